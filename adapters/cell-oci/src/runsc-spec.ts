import { cellPaths } from '@glovebox/cell';
import type { OciMount, OciSpec } from './oci-spec.ts';

/** Directories that runsc fills unasked; each has an empty one over it. Of a kernel in user space, nothing of the host. */
export const maskedByRunsc = ['/sys', '/dev/pts', '/dev/net', '/dev/shm'] as const;

/**
 * A specification for runsc, which makes a kernel in user space of it.
 *
 * The user namespace is made by the launcher, around runsc itself, so that none of its processes is one of the host's
 * users: by itself it would run every sandbox as the host's `nobody`. What is said here of ids holds in its own kernel.
 */
export function toRunscSpec(spec: OciSpec): OciSpec {
  const { seccomp, ...linux } = spec.linux;
  const { apparmorProfile: _, ...process } = spec.process;
  return {
    ...spec,
    process,
    mounts: [...spec.mounts.map(asRunscTakesIt), ...maskedByRunsc.map(emptyDirectory)],
    linux: {
      ...linux,
      namespaces: linux.namespaces.filter(({ type }) => type !== 'user'),
      uidMappings: [],
      gidMappings: [],
      ...(seccomp === undefined ? {} : { seccomp: { ...seccomp, syscalls: seccomp.syscalls.map(asRunscAnswers) } }),
    },
  };
}

type SeccompRule = NonNullable<OciSpec['linux']['seccomp']>['syscalls'][number];

/**
 * It knows no other error than EPERM. A call that is to be traced by nobody fails with ENOSYS, by its kernel as by Linux,
 * which is what the C library needs to hear of clone3 to go on without it.
 */
function asRunscAnswers({ errnoRet, ...rule }: SeccompRule): SeccompRule {
  return rule.action === 'SCMP_ACT_ERRNO' && errnoRet !== undefined ? { ...rule, action: 'SCMP_ACT_TRACE' } : rule;
}

/**
 * Where /dev is read-only its kernel lets nobody write to a device; those are its own, and the directory is root's. It
 * has the whole of /proc always.
 */
function asRunscTakesIt(mount: OciMount): OciMount {
  if (mount.destination === '/dev') return { ...mount, options: mount.options.filter((option) => option !== 'ro') };
  if (mount.destination === '/proc')
    return { ...mount, options: mount.options.filter((option) => option !== 'subset=pid') };
  if (mount.destination === cellPaths.scratch)
    return { ...mount, options: mount.options.filter((option) => !option.startsWith('nr_inodes=')) };
  return mount;
}

const emptyDirectory = (destination: string): OciMount => ({
  destination,
  type: 'tmpfs',
  source: 'tmpfs',
  options: ['ro', 'nosuid', 'nodev', 'noexec', 'mode=0555', 'size=4k'],
});
