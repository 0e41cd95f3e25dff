import { closeSync, fstatSync, openSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { GloveboxError } from '@glovebox/contract';

/**
 * What one place shows in the launcher's own mount namespace. `target` is a real path: a link in it would lead out of that
 * namespace where we look into it. `options` are of the mount, as fstab(5) has them.
 */
export interface Bind {
  source: string;
  target: string;
  options: readonly ('ro' | 'rw' | 'nosuid' | 'nodev')[];
}

/**
 * The image's root, which may lie in a directory that only root can enter, goes where the cell's uid can reach it. The
 * runtime is shown to itself read-only, which it takes for safe from being overwritten by way of /proc/self/exe
 * (CVE-2019-5736); otherwise it would copy itself to memory and start again, at each boot.
 */
export const bindsOf = (rootfs: string, mountPoint: string, runtime: string): Bind[] => [
  { source: rootfs, target: mountPoint, options: ['ro', 'nosuid', 'nodev'] },
  { source: runtime, target: runtime, options: ['ro'] },
];

/** Where a runtime in a user namespace of its own finds the image's root and its bundle, below the mount point. */
export const reachable = (mountPoint: string): { rootfs: string; bundle: string } => ({
  rootfs: `${mountPoint}/rootfs`,
  bundle: `${mountPoint}/bundle`,
});

/**
 * What a runtime in a user namespace of its own needs: with the rights of nobody on the host it cannot enter our
 * directories, so the image's root and the bundle are put where anyone could. Flags beyond `ro` would be locked for it,
 * and it takes those that it does not know of for a failure.
 *
 * @param stage a directory of this one cell with nothing but an empty directory for each of both, so that whatever is
 *   at the mount point, nothing is made there and no link of its is followed.
 */
export function namespacedBindsOf(rootfs: string, bundle: string, stage: string, mountPoint: string): Bind[] {
  const at = reachable(mountPoint);
  return [
    { source: stage, target: mountPoint, options: ['ro'] },
    { source: rootfs, target: at.rootfs, options: ['ro'] },
    { source: bundle, target: at.bundle, options: ['rw'] },
  ];
}

/** All in one call of mount. */
export const mountTable = (binds: readonly Bind[]): string =>
  binds
    .map(({ source, target, options }) => {
      const words = ['bind', ...options].join(',');
      return `${escapeField(source)} ${escapeField(target)} none ${words} 0 0\n`;
    })
    .join('');

/** As fstab(5) wants it, byte by byte: whatever is not plain is octal. */
const escapeField = (path: string): string =>
  [...Buffer.from(path)]
    .map((byte) => {
      const character = String.fromCharCode(byte);
      return /[\w/.+-]/.test(character) ? character : `\\${byte.toString(8).padStart(3, '0')}`;
    })
    .join('');

/**
 * Look that each place shows to a process what it must, and no more writable than it must. `mount -a` passes over what
 * it takes for mounted already and calls that a success: a mount of the host's of the same name would stand for ours.
 *
 * @throws GloveboxError `HOST_UNSUPPORTED`, also where it cannot be told.
 */
export function requireMounted(pid: number | undefined, binds: readonly Bind[]): void {
  for (const bind of binds) {
    let shown: boolean;
    try {
      shown = isMounted(`/proc/${pid ?? ''}`, bind);
    } catch (thrown) {
      throw notMounted(bind.target, thrown);
    }
    if (!shown) throw notMounted(bind.target);
  }
}

/** The mount is told by the descriptor, and not by the path, at which the table may name several. */
function isMounted(proc: string, { source, target, options }: Bind): boolean {
  const expected = statSync(source);
  const fd = openSync(`${proc}/root${target}`, 'r');
  try {
    const { dev, ino } = fstatSync(fd);
    const id = /^mnt_id:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1'))?.[1];
    const line = readFileSync(`${proc}/mountinfo`, 'latin1')
      .split('\n')
      .find((text) => text.startsWith(`${id} `));
    const inForce = line?.split(' ')[5]?.split(',') ?? [];
    return dev === expected.dev && ino === expected.ino && options.every((option) => inForce.includes(option));
  } finally {
    closeSync(fd);
  }
}

const notMounted = (target: string, cause?: unknown): GloveboxError =>
  new GloveboxError('HOST_UNSUPPORTED', {
    message: `${target} does not show to the launcher what it was to mount there.`,
    hint: `Mount nothing of Glovebox's on ${target} of the host.`,
    ...(cause === undefined ? {} : { cause }),
  });

/** Directories that nearly every host has and that nothing of ours lies in. Mounting on one is seen by the cell alone. */
const mountPoints = ['/mnt', '/media', '/srv', '/opt', '/dev/shm'] as const;

/**
 * Where the launcher shows the image's root. A directory that any uid can reach, and no ancestor of what the runtime has
 * to read afterwards, since the mount hides what was there.
 *
 * @throws GloveboxError `HOST_UNSUPPORTED`.
 */
export function chooseMountPoint(hybridMountPoint: string | undefined, needed: readonly string[]): string {
  if (hybridMountPoint !== undefined) return hybridMountPoint;
  const found = mountPoints
    .filter(isReachable)
    .map((path) => realpathSync(path))
    .find((path) => isReachable(path) && !needed.some((other) => `${other}/`.startsWith(`${path}/`)));
  if (found !== undefined) return found;
  throw new GloveboxError('HOST_UNSUPPORTED', { message: `None of ${mountPoints.join(', ')} can be mounted on.` });
}

function isReachable(path: string): boolean {
  try {
    for (let part = path; part !== '/'; part = dirname(part)) {
      const stat = statSync(part);
      if (!stat.isDirectory() || (stat.mode & 0o001) === 0) return false;
    }
    return true;
  } catch {
    return false;
  }
}
