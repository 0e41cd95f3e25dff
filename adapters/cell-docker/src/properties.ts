import { cellEnvironment, cellPaths } from '@glovebox/cell';
import { type CreateBody, maskedPaths } from './create-body.ts';

/** Present when a test weakened the cell: then no receipt can pass it off as a sealed one. */
export const weakenedProperty = 'weakened-for-test';

/** Each property with what a container's description must say for it. */
const bodyProperties: Record<string, (body: CreateBody) => boolean> = {
  'capabilities-none': ({ HostConfig }) => HostConfig.CapDrop.includes('ALL') && !HostConfig.Privileged,
  'cgroup-cpu': ({ HostConfig }) => HostConfig.NanoCpus > 0,
  'cgroup-memory': ({ HostConfig }) => HostConfig.Memory > 0,
  'cgroup-pids': ({ HostConfig }) => HostConfig.PidsLimit > 0,
  'cgroup-swap': ({ HostConfig }) => HostConfig.Memory > 0 && HostConfig.MemorySwap === HostConfig.Memory,
  'descriptors-fixed': ({ Tty }) => !Tty,
  'devices-minimal': ({ HostConfig }) =>
    !HostConfig.Privileged &&
    HostConfig.ReadonlyPaths.includes('/dev/null') &&
    ['/dev/console', '/dev/tty'].every((path) => HostConfig.MaskedPaths.includes(path)),
  'environment-fixed': ({ Env, WorkingDir }) =>
    Env.filter((entry) => entry.includes('=')).length === Object.keys(cellEnvironment).length && WorkingDir === '/',
  'mounts-none-of-host': ({ HostConfig }) => maskedPaths.every((path) => HostConfig.MaskedPaths.includes(path)),
  'namespace-cgroup': ({ HostConfig }) => HostConfig.CgroupnsMode === 'private',
  'namespace-ipc': ({ HostConfig }) => HostConfig.IpcMode === 'none',
  'namespace-network': (body) => body.NetworkDisabled && body.HostConfig.NetworkMode === 'none',
  'no-new-privileges': ({ HostConfig }) => HostConfig.SecurityOpt.includes('no-new-privileges'),
  'proc-masked': ({ HostConfig }) =>
    HostConfig.MaskedPaths.includes('/proc/kcore') && HostConfig.ReadonlyPaths.includes('/proc/sys'),
  rlimits: ({ HostConfig }) =>
    ['core', 'cpu', 'nofile'].every((name) => HostConfig.Ulimits.some(({ Name }) => Name === name)),
  'root-read-only': ({ HostConfig }) => HostConfig.ReadonlyRootfs,
  'scratch-limited': ({ HostConfig }) =>
    ['noexec', 'nosuid', 'nodev', /^size=/, /^nr_inodes=/].every((wanted) =>
      (HostConfig.Tmpfs[cellPaths.scratch] ?? '')
        .split(',')
        .some((option) => (typeof wanted === 'string' ? option === wanted : wanted.test(option))),
    ),
  seccomp: ({ HostConfig }) =>
    HostConfig.SecurityOpt.some((option) => option.startsWith('seccomp=') && option !== 'seccomp=unconfined'),
};

/** What an engine gives every container, and cannot be asked to leave out by what a body says. */
const given = ['namespace-mount', 'namespace-pid', 'namespace-uts'];

/** Properties that a description puts in force, sorted. Read off what is handed to the engine, not off a wish. */
export const propertiesOf = (body: CreateBody): string[] =>
  [...given, ...Object.keys(bodyProperties).filter((name) => bodyProperties[name]?.(body))].sort();
