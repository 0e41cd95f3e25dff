import type { CellPlan, ProbeDocument } from '@glovebox/contract';
import { cellEnvironment, cellPaths, cellUid, channelFd } from './command.ts';
import {
  deviceNumbers,
  isDeviceNode,
  isMasked,
  isOwnTmpfs,
  isPartOfProc,
  type Mount,
  mountsAt,
  reachableMounts,
} from './conformance-mounts.ts';
import type { HostNamespaces } from './host-namespaces.ts';
import { attemptNames, isRefusal } from './probe-attempts.ts';
import type { ProbeReport } from './probe-report.ts';
import type { CellProfile } from './profile.ts';
import { extraCalls } from './seccomp.ts';
import type { Weakening } from './weakening.ts';
import { witnessedCases } from './witnessed-cases.ts';

/**
 * What every cell of every driver must be. One table drives the judgement of a probe cell, the report on a host and the
 * mutation check, in which each row must fail, and fail alone, once a driver takes away what the row is about.
 */
export type ConformanceCase = ConformanceCheck | WitnessedCase;

interface ConformanceRow {
  /** Name of the property, as in CellFacts.properties. */
  property: string;
  claim: string;
}

/**
 * Judged from what a probe cell saw of itself. The host's own view is a second witness and not used here, but for the
 * namespaces that must differ from all that were there before.
 */
export interface ConformanceCheck extends ConformanceRow {
  probe: 'probe-cell';
  /** What is claimed of the cells of an engine where that is less. */
  claimOf?(profile: CellProfile): string | undefined;
  /** What speaks against the claim; empty when it holds. */
  violations(seen: Seen): string[];
  weaken: Weakening;
}

/** What a cell that only tells of itself cannot show: it is seen by what becomes of a cell that goes against it. */
export interface WitnessedCase extends ConformanceRow {
  probe: 'memory-hog' | 'thread-flood' | 'busy-loop' | 'endless-loop' | 'owner-killed' | 'control-files';
  /** Whether a host is refused without it. Left out where a driver looks at the host for it by itself. */
  required?: boolean;
  /** Or why no driver can take it away, so that other tests have to show that it can be found missing. */
  weaken: Weakening | { cannot: string };
}

export interface Seen extends ProbeReport {
  plan: CellPlan;
  hostNamespaces: HostNamespaces;
  profile: CellProfile;
}

export interface ConformanceResult {
  property: string;
  claim: string;
  violations: string[];
  /** Why it is the engine's word alone, though nothing speaks against it; undefined where it was seen. */
  unseen?: string;
}

/** Properties that the engine lacks are left out: what was not judged is not claimed. */
export const judgeProbe = (seen: Seen): ConformanceResult[] =>
  conformanceChecks
    .filter(({ property }) => !seen.profile.lacks.includes(property))
    .map(({ property, claim, claimOf, violations }) => ({
      property,
      claim: claimOf?.(seen.profile) ?? claim,
      violations: violations(seen),
      ...unseenNamespaces(seen, property),
    }));

/** That a namespace is none of those that could be seen shows nothing where the host's own may be hidden. */
const unseenNamespaces = ({ hostNamespaces, profile }: Seen, property: string): { unseen?: string } =>
  profile.namespacesBy === 'engine' && property.startsWith('namespace-') && hostNamespaces.unseen !== undefined
    ? { unseen: hostNamespaces.unseen }
    : {};

/** Attempts that must succeed: without them a cell that refuses everything would pass. */
const allowedAttempts = new Set(['create /tmp/probe', 'write /dev/null', 'write /dev/tty', 'read /dev/urandom']);
/** Files of /proc that may be read where the kernel cannot show a /proc of processes alone. */
const maskedReads = new Set(['read /proc/meminfo', 'read /proc/cpuinfo', 'read /proc/sys/kernel/random/boot_id']);

const lacking = (mounts: readonly Mount[], flags: readonly string[], point: string): string[] =>
  mounts.length === 0
    ? [`nothing is mounted on ${point}`]
    : flags
        .filter((flag) => !mounts.every((mount) => mount.flags.includes(flag)))
        .map((flag) => `${point} is not ${flag}`);

const expectSame = (what: string, actual: unknown, expected: unknown): string[] =>
  JSON.stringify(actual) === JSON.stringify(expected) ? [] : [`${what} is ${JSON.stringify(actual)}`];

const status = ({ document, profile }: Seen, field: string, expected: string): string[] =>
  document.status[field] === undefined && profile.ownKernel?.untold.includes(field)
    ? []
    : expectSame(field, document.status[field] ?? null, expected);

/** What a kernel in user space shows of the options that Linux shows. */
const shown = ({ ownKernel }: CellProfile, options: readonly string[]): readonly string[] =>
  options.filter((option) => !ownKernel?.untold.includes(option));

/** Attempts of which it is not known whether they are refused: what was not tried, or ended in no answer of the kernel's. */
const untold = ({ document }: Seen, isAbout: (name: string) => boolean): string[] =>
  attemptNames
    .filter((name) => isAbout(name) && !allowedAttempts.has(name))
    .filter((name) => document.attempts[name] !== 'ok' && !isRefusal(document.attempts[name]))
    .map((name) => `${name} gave ${document.attempts[name] ?? 'nothing'}`);

/** Attempts that succeeded and reach something. */
const succeeded = ({ document, profile }: Seen): string[] =>
  Object.entries(document.attempts)
    .filter(([name, outcome]) => outcome === 'ok' && !profile.ownKernel?.harmless.includes(name))
    .map(([name]) => name);

type IdRange = readonly [container: number, host: number, size: number];

/** Lines `container host size` of a uid or gid map; undefined where one is anything else. */
function idRanges(lines: readonly string[] | null): IdRange[] | undefined {
  const ranges = (lines ?? []).map((line) => /^\s*(\d+)\s+(\d+)\s+(\d+)\s*$/.exec(line)?.slice(1).map(Number));
  return ranges.length > 0 && ranges.every((range) => range?.length === 3)
    ? (ranges as unknown as IdRange[])
    : undefined;
}

/** Below are ids of users and services of a host. */
const firstContainerId = 100_000;

function mapViolations({ document: { uidMap, gidMap }, profile }: Seen): string[] {
  const uids = idRanges(uidMap);
  const gids = idRanges(gidMap);
  if (uids === undefined || gids === undefined) return ['its ids on the host cannot be read'];
  const same = expectSame('gid_map', gids, uids);
  if (profile.userNamespace === 'none' || profile.ownKernel !== undefined) return same;
  const hostIds = uids.map(([, host]) => host);
  const low = hostIds.some((id) => id < firstContainerId) || new Set(hostIds).size !== hostIds.length;
  return [
    ...same,
    ...(low ? [`its ids lead to ${hostIds.join(', ')} of the host`] : []),
    ...(profile.userNamespace === 'own'
      ? [
          ...expectSame(
            'container ids',
            uids.map(([container]) => container),
            [0, cellUid],
          ),
          ...expectSame(
            'sizes',
            uids.map(([, , size]) => size),
            [1, 1],
          ),
        ]
      : []),
  ];
}

/**
 * A namespace that some process had before the cell was booted is shared with that process. A kernel in user space numbers
 * its own: there is nothing to compare, and it is looked at from the host.
 */
function sharedNamespace(link: string, { document, hostNamespaces: { held }, profile }: Seen): string[] {
  if (profile.ownKernel !== undefined) return [];
  const own = document.namespaces[link];
  if (typeof own !== 'string') return [`the ${link} namespace cannot be read`];
  return held[link]?.includes(own) === false ? [] : [`the ${link} namespace is not its own`];
}

const namespaceCheck = (property: string, link: string, weaken: Weakening): ConformanceCheck => ({
  property,
  claim: `has a ${link} namespace of its own`,
  probe: 'probe-cell',
  violations: (seen) => sharedNamespace(link, seen),
  weaken,
});

/** A tmpfs without a limit says that it has none of what is not limited, and not that it has a lot. */
function scratchViolations({ scratch, mounted }: ProbeDocument, { limits }: CellPlan, profile: CellProfile): string[] {
  if (scratch === null) return ['its size cannot be read'];
  const { bytes, inodes, freeInodes } = scratch;
  const within = (value: number, limit: number): boolean => value > 0 && value <= limit;
  const bounded = profile.scratchInodes === 'limited';
  return [
    ...(within(bytes, limits.scratchBytes + 4096) ? [] : ['bytes are not limited']),
    ...(!bounded || within(inodes, limits.scratchInodes + 1) ? [] : ['inodes are not limited']),
    // The directory itself is one.
    ...(!bounded || freeInodes === inodes - 1 ? [] : [`${inodes - freeInodes} inodes are in use`]),
    ...(mounted[cellPaths.scratch] === 'empty directory' ? [] : ['it is not empty at the start']),
  ];
}

/** Devices that must be there, with their numbers: what a kernel of its own has in place of one counts for it. */
const wantedDevices = ({ ownKernel }: CellProfile): string[] =>
  Object.entries(deviceNumbers).map(
    ([path, number]) => ownKernel?.devices.find((device) => device.startsWith(`${path} `)) ?? `${path} ${number}`,
  );

/** Whether a mount is one that a cell is made of. By what is mounted: a path alone says nothing. */
function isOfCell(mount: Mount, document: ProbeDocument, { masked, ownKernel }: CellProfile): boolean {
  const { point, root, type } = mount;
  if (point === '/') return true;
  if (point === '/proc') return type === 'proc' && root === '/';
  if (point === '/dev' || point === cellPaths.scratch) return isOwnTmpfs(mount);
  if (ownKernel?.mountPoints.includes(point)) return true;
  if (point in deviceNumbers && isDeviceNode(document, mount, point === '/dev/tty' ? '/dev/null' : point)) return true;
  if (isPartOfProc(document, mount)) return true;
  return (masked.includes(point) || point.startsWith('/proc/')) && isMasked(document, point);
}

/** Lines that could not be read are nothing that was found absent. */
const readable = (what: string, lines: readonly string[] | null): string[] =>
  lines === null ? [`the ${what} cannot be read`] : [];

const walkedWhole = ({ tree }: ProbeDocument): string[] =>
  tree.complete ? [] : [`the file tree was walked in part only, ${tree.entries} entries of it`];

const isSocketCall = ({ name }: { name: string }): boolean => name.startsWith('socket');

/** What the system-call probe found against the list. */
const refusedCalls = ({ calls, plan }: Seen): string[] => [
  ...(calls.complete ? [] : ['the system-call probe did not end']),
  ...(calls.survivedForeignGate ? ['a call by the 32-bit gate came back'] : []),
  ...calls.outcomes
    .filter((call) => !call.asExpected && !isSocketCall(call) && !extraCalls[plan.role]?.names.includes(call.name))
    .map((call) => `${call.name} gave ${call.result}`),
];

const limitOf = (document: ProbeDocument, name: string): string[] =>
  document.limits
    ?.find((line) => line.startsWith(name))
    ?.slice(name.length)
    .trim()
    .split(/\s+/)
    .slice(0, 2) ?? [];

const rlimitViolations = ({ document, plan }: Seen): string[] => [
  ...expectSame('core file size', limitOf(document, 'Max core file size'), ['0', '0']),
  ...expectSame('message queues', limitOf(document, 'Max msgqueue size'), ['0', '0']),
  ...expectSame('open files', limitOf(document, 'Max open files'), Array(2).fill(String(plan.limits.openFiles))),
  ...(/^\d+ \d+$/.test(limitOf(document, 'Max cpu time').join(' ')) ? [] : ['processor time is not limited']),
  ...(document.attempts['lower oom_score_adj'] === 'ok' || (document.oomScoreAdj ?? -1) < 0
    ? ['it is not among the first to die when the host is short of memory']
    : []),
];

export const conformanceChecks: readonly ConformanceCheck[] = [
  namespaceCheck('namespace-mount', 'mnt', 'mount-namespace'),
  namespaceCheck('namespace-ipc', 'ipc', 'ipc-namespace'),
  namespaceCheck('namespace-uts', 'uts', 'uts-namespace'),
  namespaceCheck('namespace-cgroup', 'cgroup', 'cgroup-namespace'),
  namespaceCheck('namespace-user', 'user', 'user-namespace'),
  {
    property: 'namespace-pid',
    claim: 'is the first and only process of its pid namespace',
    probe: 'probe-cell',
    weaken: 'pid-namespace',
    violations: (seen) => [
      ...sharedNamespace('pid', seen),
      ...expectSame('pid', [seen.document.pid, seen.document.ppid], [1, 0]),
      ...expectSame('processes', seen.document.processes, [1]),
    ],
  },
  {
    property: 'namespace-network',
    claim: 'has no interface but lo, no route out and no socket to see',
    probe: 'probe-cell',
    weaken: 'network-namespace',
    violations: (seen) => {
      const { network } = seen.document;
      const interfaces = (network.devices ?? ['?:']).flatMap((line) => /^\s*([^\s:|]+):/.exec(line)?.[1] ?? []);
      const routes6 = (network.routes6 ?? []).map((line) => line.trim().split(/\s+/).at(-1));
      return [
        ...sharedNamespace('net', seen),
        ...expectSame('interfaces', interfaces, ['lo']),
        ...readable('routes', network.routes),
        ...readable('routes of IPv6', network.routes6),
        ...readable('unix sockets', network.unix),
        ...expectSame('routes', (network.routes ?? []).slice(1), []),
        ...routes6.filter((device) => device !== 'lo').map((device) => `there is a route by ${device}`),
        ...expectSame('unix sockets', (network.unix ?? []).slice(1), []),
      ];
    },
  },
  {
    property: 'uid-own',
    claim: 'runs with ids that no other cell has on the host, and with no supplementary group',
    probe: 'probe-cell',
    weaken: 'host-uid',
    violations: (seen) => {
      const { document, profile } = seen;
      return [
        ...expectSame('ids', document.ids, {
          uid: profile.uid,
          euid: profile.uid,
          gid: profile.uid,
          egid: profile.uid,
        }),
        ...mapViolations(seen),
        // An engine may name the primary group once more.
        ...(document.status.Groups === String(profile.uid) ? [] : status(seen, 'Groups', '')),
        ...['rewrite uid_map', 'rewrite gid_map'].filter((name) => document.attempts[name] === 'ok'),
        ...untold(seen, (name) => name.startsWith('rewrite ')),
      ];
    },
  },
  {
    property: 'capabilities-none',
    claim: 'has no capability in any set',
    probe: 'probe-cell',
    weaken: 'capability',
    violations: (seen) =>
      ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].flatMap((set) => status(seen, set, '0000000000000000')),
  },
  {
    property: 'no-new-privileges',
    claim: 'cannot gain a privilege by executing a file',
    probe: 'probe-cell',
    weaken: 'new-privileges',
    violations: (seen) => [
      ...status(seen, 'NoNewPrivs', '1'),
      ...walkedWhole(seen.document),
      ...seen.document.tree.privileged.map((path) => `${path} has a setuid or setgid bit`),
    ],
  },
  {
    property: 'seccomp',
    claim: 'is refused every system call that is not on the list, and by the 32-bit gate all of them',
    probe: 'probe-cell',
    weaken: 'system-call',
    violations: (seen) => [...status(seen, 'Seccomp', '2'), ...refusedCalls(seen)],
  },
  {
    property: 'sockets-unix-only',
    claim: 'can make no socket of a family but unix, and finds none in its file tree',
    probe: 'probe-cell',
    weaken: 'socket-family',
    violations: ({ document, calls }) => [
      ...calls.outcomes
        .filter((call) => isSocketCall(call) && !call.asExpected)
        .map((call) => `${call.name} gave ${call.result}`),
      ...walkedWhole(document),
      ...document.tree.sockets.map((path) => `${path} is a socket`),
    ],
  },
  {
    property: 'root-read-only',
    claim: 'can create and change nothing but in its scratch directory',
    probe: 'probe-cell',
    weaken: 'writable-root',
    violations: (seen) => [
      ...lacking(mountsAt(seen.document, '/'), seen.profile.rootOptions, '/'),
      ...succeeded(seen)
        .filter((name) => !allowedAttempts.has(name) && !name.startsWith('read '))
        .map((name) => `could ${name}`),
      ...untold(seen, (name) => /^(create|write) /.test(name)),
    ],
  },
  {
    property: 'mounts-none-of-host',
    claim: 'has its own root, /proc, /dev and scratch mounted, and nothing else',
    probe: 'probe-cell',
    weaken: 'host-mount',
    violations: ({ document, profile }) => [
      ...(document.mounts === null ? ['the mounts cannot be read'] : []),
      ...reachableMounts(document)
        .filter((mount) => !isOfCell(mount, document, profile))
        .map(({ point }) => `${point} is mounted`),
      ...(document.sys === null || document.sys.length === 0 ? [] : ['/sys is there']),
      ...walkedWhole(document),
      ...document.tree.pipes.map((path) => `${path} is a pipe`),
    ],
  },
  {
    property: 'devices-minimal',
    claim: 'has null, zero, full, random and urandom, and no terminal',
    probe: 'probe-cell',
    weaken: 'writable-devices',
    violations: ({ document, profile }) => [
      ...lacking(mountsAt(document, '/dev'), profile.devOptions, '/dev'),
      // They are the host's own: on a mount that can be written a cell could set their times.
      ...Object.keys(deviceNumbers)
        .filter(() => profile.ownKernel === undefined)
        .flatMap((point) => lacking(mountsAt(document, point), ['ro'], point)),
      ...wantedDevices(profile)
        .filter((device) => !document.tree.devices.includes(device))
        .map((device) => `there is no ${device}`),
      ...walkedWhole(document),
      ...document.tree.devices
        .filter((device) => !wantedDevices(profile).includes(device) && !profile.ownKernel?.devices.includes(device))
        .filter((device) => !profile.masked.some((point) => device === `${point} c 1:3`))
        .map((device) => `there is ${device}`),
      ...expectSame('controlling terminal', document.terminal, 0),
      ...expectSame('session', document.session, document.pid),
      ...document.descriptors.filter(({ terminal }) => terminal).map(({ fd }) => `fd ${fd} is a terminal`),
    ],
  },
  {
    property: 'proc-own-processes',
    claim: 'sees its own processes in /proc and nothing of the host',
    probe: 'probe-cell',
    weaken: 'whole-proc',
    violations: (seen) => {
      const { document, profile } = seen;
      const mounts = mountsAt(document, '/proc');
      const subset = mounts.length > 0 && mounts.every(({ options }) => options.includes('subset=pid'));
      return [
        ...lacking(mounts, shown(profile, ['nosuid', 'nodev', 'noexec']), '/proc'),
        ...(subset ? expectSame('/proc', document.proc, ['self', 'thread-self']) : []),
        ...succeeded(seen)
          .filter((name) => name.startsWith('read ') && !allowedAttempts.has(name))
          .filter((name) => subset || !maskedReads.has(name))
          .filter((name) => !isMasked(document, name.slice('read '.length)))
          .map((name) => `could ${name}`),
        ...untold(seen, (name) => name.startsWith('read ')),
      ];
    },
  },
  {
    property: 'scratch-limited',
    claim: 'has a scratch directory that is limited in bytes and inodes and from which nothing can be executed',
    claimOf: ({ scratchInodes }) =>
      scratchInodes === 'limited'
        ? undefined
        : 'has a scratch directory that is limited in bytes and from which nothing can be executed',
    probe: 'probe-cell',
    weaken: 'executable-scratch',
    violations: ({ document, plan, profile }) => [
      ...lacking(
        mountsAt(document, cellPaths.scratch),
        shown(profile, ['noexec', 'nosuid', 'nodev']),
        cellPaths.scratch,
      ),
      ...scratchViolations(document, plan, profile),
      ...[...allowedAttempts]
        .filter((name) => document.attempts[name] !== 'ok' && !profile.ownKernel?.refused.includes(name))
        .map((name) => `could not ${name}`),
    ],
  },
  {
    property: 'rlimits',
    claim: 'may write no core, queue no message and open only as many files as the plan says',
    probe: 'probe-cell',
    weaken: 'message-queues',
    violations: (seen) => [...rlimitViolations(seen), ...untold(seen, (name) => name.startsWith('lower '))],
  },
  {
    property: 'environment-fixed',
    claim: 'has the documented environment, host name and working directory, and nothing of the host',
    probe: 'probe-cell',
    weaken: 'host-variable',
    violations: ({ document, profile }) => [
      ...expectSame(
        'environment',
        sorted(document.environment),
        sorted({ ...cellEnvironment, ...profile.addedEnvironment }),
      ),
      ...expectSame('working directory', document.cwd, '/'),
      ...expectSame('host name', document.hostname, 'cell'),
      ...(document.domainname === null || document.domainname === '(none)'
        ? []
        : expectSame('domain name', document.domainname, 'cell')),
    ],
  },
  {
    property: 'descriptors-fixed',
    claim: 'is born with its standard streams and the channel, and no file, directory or foreign socket',
    probe: 'probe-cell',
    weaken: 'open-descriptor',
    violations: ({ document, profile }) => [
      ...[0, 1, 2]
        .filter((wanted) => !document.descriptors.some(({ fd }) => fd === wanted))
        .map((fd) => `there is no fd ${fd}`),
      ...document.descriptors
        .filter(({ fd, target }) => !(fd < channelFd ? standardStream(fd, profile) : ownDescriptor(fd)).test(target))
        .map(({ fd, target }) => `fd ${fd} is ${target}`),
    ],
  },
];

/** All of it, in the order of reports. */
export const conformanceTable: readonly ConformanceCase[] = [...witnessedCases, ...conformanceChecks];

/**
 * A runtime that relays the streams gives it a pipe for fd 0, closed at the other end. A kernel in user space says of what
 * it was given no more than that it is the host's.
 */
function standardStream(fd: number, { ownKernel }: CellProfile): RegExp {
  if (ownKernel !== undefined) return /^host:/;
  return fd === 0 ? /^(\/dev\/null$|pipe:)/ : /^(socket|pipe):/;
}

/** Beyond the streams Node.js has its own; where the channel is on one of its own, it comes first. */
const ownDescriptor = (fd: number): RegExp => (fd === channelFd ? /^(socket|pipe|anon_inode):/ : /^(anon_inode|pipe):/);

const sorted = (record: Readonly<Record<string, string>>): [string, string][] =>
  Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1));
