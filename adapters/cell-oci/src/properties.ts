import { cellEnvironment, cellUid } from '@glovebox/cell';
import type { OciSpec } from './oci-spec.ts';

/** Present when a test weakened the cell: then no receipt can pass it off as a sealed one. */
export const weakenedProperty = 'weakened-for-test';

const isEmpty = (list: readonly unknown[] | undefined): boolean => (list?.length ?? 0) === 0;

/** Each property with what a specification must say for it. */
const specProperties: Record<string, (spec: OciSpec) => boolean> = {
  'capabilities-none': ({ process }) => Object.values(process.capabilities).every(isEmpty),
  'devices-minimal': ({ mounts, linux }) =>
    linux.readonlyPaths.includes('/dev/null') &&
    mounts.some(
      ({ destination, type, options }) => destination === '/dev' && type === 'tmpfs' && options.includes('ro'),
    ),
  'environment-fixed': ({ process }) =>
    process.env.length === Object.keys(cellEnvironment).length && process.cwd === '/',
  'mounts-none-of-host': ({ mounts }) =>
    mounts.every(
      ({ type, options }) => ['proc', 'tmpfs'].includes(type) && !options.some((option) => /^r?bind$/.test(option)),
    ),
  'namespace-cgroup': (spec) => ownNamespace(spec, 'cgroup'),
  'namespace-ipc': (spec) => ownNamespace(spec, 'ipc'),
  'namespace-mount': (spec) => ownNamespace(spec, 'mount'),
  'namespace-network': (spec) => ownNamespace(spec, 'network'),
  'namespace-pid': (spec) => ownNamespace(spec, 'pid'),
  'namespace-user': (spec) => ownNamespace(spec, 'user'),
  'namespace-uts': (spec) => ownNamespace(spec, 'uts'),
  'no-new-privileges': ({ process }) => process.noNewPrivileges,
  'proc-own-processes': ({ mounts }) =>
    mounts.some(({ type, options }) => type === 'proc' && options.includes('subset=pid')),
  'proc-masked': ({ linux }) => linux.maskedPaths.includes('/proc/kcore') && linux.readonlyPaths.includes('/proc/sys'),
  rlimits: ({ process }) =>
    ['RLIMIT_CORE', 'RLIMIT_CPU', 'RLIMIT_NOFILE'].every((type) =>
      process.rlimits.some((limit) => limit.type === type),
    ),
  'root-read-only': ({ root }) => root.readonly,
  'scratch-limited': ({ mounts }) =>
    mounts.some(
      ({ destination, type, options }) =>
        destination === '/tmp' &&
        type === 'tmpfs' &&
        ['noexec', 'nosuid', 'nodev'].every((option) => options.includes(option)) &&
        options.some((option) => option.startsWith('size=')) &&
        options.some((option) => option.startsWith('nr_inodes=')),
    ),
  seccomp: ({ linux }) => linux.seccomp?.defaultAction === 'SCMP_ACT_ERRNO',
  'sockets-unix-only': ({ linux }) =>
    linux.seccomp?.syscalls
      .filter(({ names }) => names.includes('socket'))
      .every(({ args }) => args?.[0]?.value === 1) ?? false,
  'uid-own': ({ linux }) =>
    linux.uidMappings.length === 2 &&
    linux.uidMappings.some(({ containerID, hostID }) => containerID === cellUid && hostID >= 0x7000_0000),
  apparmor: ({ process }) => process.apparmorProfile !== undefined,
};

const ownNamespace = (spec: OciSpec, type: string): boolean =>
  spec.linux.namespaces.some((namespace) => namespace.type === type && namespace.path === undefined);

/** The properties that a specification puts in force, sorted. Read off what is handed to the runtime, not off a wish. */
export const propertiesOf = (spec: OciSpec): string[] =>
  Object.keys(specProperties)
    .filter((name) => specProperties[name]?.(spec))
    .sort();
