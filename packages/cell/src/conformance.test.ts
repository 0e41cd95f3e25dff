import type { CellPlan, ProbeDocument } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { conformanceChecks, conformanceTable, judgeProbe, type Seen } from './conformance.ts';
import { readProbeReport } from './probe-report.ts';
import { ownProfile } from './profile.ts';
import { probeCalls, refusalErrno } from './syscalls.ts';
import { weakenings } from './weakening.ts';

const limits = {
  cpu: 1,
  bootCpu: 2,
  memoryBytes: 2 ** 27,
  pids: 64,
  scratchBytes: 1_048_576,
  scratchInodes: 4096,
  openFiles: 256,
  lifetimeMs: 60_000,
};
const plan: CellPlan = {
  schema: 'glovebox.cell-plan/1',
  role: 'probe',
  class: 'ns',
  image: `sha256:${'0'.repeat(64)}`,
  limits,
};
const kinds = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'];
const capabilities = Object.fromEntries(
  ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((set) => [set, '0'.repeat(16)]),
);
const device = (name: string, at: number): string =>
  `${97 + at} 92 0:6 /${name} /dev/${name} ro,nosuid,noexec,relatime - devtmpfs devtmpfs rw,mode=755`;

/** What a probe in a good cell tells, as it was seen. */
const good: ProbeDocument = {
  schema: 'glovebox.probe/1',
  node: 'v26.12.1',
  arch: 'x64',
  argv: [],
  execArgv: [],
  cwd: '/',
  pid: 1,
  ppid: 0,
  session: 1,
  terminal: 0,
  ids: { uid: 65532, euid: 65532, gid: 65532, egid: 65532 },
  umask: 63,
  status: { ...capabilities, NoNewPrivs: '1', Seccomp: '2', Groups: '' },
  uidMap: ['         0 1879049862          1', '     65532 1879049863          1'],
  gidMap: ['         0 1879049862          1', '     65532 1879049863          1'],
  oomScoreAdj: 500,
  limits: [
    'Max cpu time              71                   71                   seconds   ',
    'Max core file size        0                    0                    bytes     ',
    'Max open files            256                  256                  files     ',
    'Max msgqueue size         0                    0                    bytes     ',
  ],
  cgroup: ['0::/'],
  namespaces: Object.fromEntries(kinds.map((kind) => [kind, `${kind}:[2]`])),
  mounts: [
    '90 66 254:0 /image / ro,nosuid,nodev,relatime - ext4 /dev/vda rw',
    '91 90 0:41 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw,subset=pid',
    '92 90 0:42 / /dev ro,nosuid,noexec,relatime - tmpfs tmpfs rw,size=64k,nr_inodes=32',
    '93 90 0:43 / /tmp rw,nosuid,nodev,noexec,relatime - tmpfs tmpfs rw,size=1024k,nr_inodes=4097',
    ...['null', 'zero', 'full', 'random', 'urandom', 'tty'].map(device),
  ],
  network: {
    devices: ['Inter-| Receive', ' face |bytes', '    lo: 0 0'],
    routes: ['Iface'],
    routes6: ['0 0 lo'],
    addresses6: [],
    tcp: [],
    udp: [],
    unix: ['Num'],
  },
  environment: { HOME: '/tmp', LANG: 'C.UTF-8', PATH: '/usr/bin', TMPDIR: '/tmp', TZ: 'UTC' },
  descriptors: [
    { fd: 0, target: '/dev/null', terminal: false },
    { fd: 1, target: 'socket:[1]', terminal: false },
    { fd: 2, target: 'socket:[2]', terminal: false },
    { fd: 3, target: 'socket:[3]', terminal: false },
    { fd: 4, target: 'anon_inode:[eventpoll]', terminal: false },
  ],
  tree: {
    sockets: [],
    devices: ['/dev/null c 1:3', '/dev/tty c 1:3'],
    pipes: [],
    privileged: [],
    entries: 30,
    complete: true,
  },
  root: [],
  dev: [],
  proc: ['self', 'thread-self'],
  processes: [1],
  sys: null,
  hostname: 'cell',
  domainname: null,
  scratch: { bytes: 1_048_576, inodes: 4097, freeInodes: 4096 },
  attempts: {
    'create /tmp/probe': 'ok',
    'write /dev/null': 'ok',
    'write /dev/tty': 'ok',
    'read /dev/urandom': 'ok',
    'create /probe': 'EROFS',
  },
};

const outcomes = probeCalls.map(({ name, expect: expected }) => ({
  name,
  expect: expected,
  result: expected === 'allowed' ? 0 : -refusalErrno[expected],
  asExpected: true,
}));
const seen: Seen = {
  document: good,
  calls: { outcomes, complete: true, survivedForeignGate: false },
  plan,
  hostNamespaces: Object.fromEntries(kinds.map((kind) => [kind, [`${kind}:[0]`, `${kind}:[1]`]])),
  profile: ownProfile,
};

const failing = (change: Partial<Seen>): string[] =>
  judgeProbe({ ...seen, ...change })
    .filter(({ violations }) => violations.length > 0)
    .map(({ property }) => property);
const withDocument = (change: Partial<ProbeDocument>): string[] => failing({ document: { ...good, ...change } });
const withAttempt = (name: string): string[] => withDocument({ attempts: { ...good.attempts, [name]: 'ok' } });

it('finds nothing against a good cell', () => {
  expect(failing({})).toEqual([]);
});

it('has each property once', () => {
  expect(new Set(conformanceTable.map(({ property }) => property)).size).toBe(conformanceTable.length);
});

it('takes away each weakening for one property, and says why where nothing can be taken away', () => {
  const used = conformanceTable.flatMap(({ weaken }) => (typeof weaken === 'string' ? [weaken] : []));
  expect(used.toSorted()).toEqual(Object.keys(weakenings).sort());
  expect(conformanceChecks.map(({ weaken }) => typeof weaken)).not.toContain('object');
});

describe('a cell is found out', () => {
  it.each<[string, Partial<ProbeDocument>, string]>([
    ['with a capability', { status: { ...good.status, CapEff: '0000000000000400' } }, 'capabilities-none'],
    ['whose capabilities cannot be read', { status: {} }, 'capabilities-none'],
    ['that may gain privileges', { status: { ...good.status, NoNewPrivs: '0' } }, 'no-new-privileges'],
    ['with a setuid file', { tree: { ...good.tree, privileged: ['/usr/bin/su'] } }, 'no-new-privileges'],
    ['without a filter', { status: { ...good.status, Seccomp: '0' } }, 'seccomp'],
    ['with a supplementary group', { status: { ...good.status, Groups: '0' } }, 'uid-own'],
    ['that is mapped to root of the host', { uidMap: ['0 0 1', '65532 1879049863 1'] }, 'uid-own'],
    ['that has a range of ids', { uidMap: ['0 1879049862 1', '65532 1879049863 65536'] }, 'uid-own'],
    ['whose map cannot be read', { gidMap: null }, 'uid-own'],
    ['with another interface', { network: { ...good.network, devices: [' eth0: 0', ' lo: 0'] } }, 'namespace-network'],
    ['with a route', { network: { ...good.network, routes: ['Iface', 'eth0 0'] } }, 'namespace-network'],
    ['that sees a socket', { network: { ...good.network, unix: ['Num', '00 @abstract'] } }, 'namespace-network'],
    ['whose routes cannot be read', { network: { ...good.network, routes: null } }, 'namespace-network'],
    ['whose routes of IPv6 cannot be read', { network: { ...good.network, routes6: null } }, 'namespace-network'],
    ['whose sockets cannot be read', { network: { ...good.network, unix: null } }, 'namespace-network'],
    ['in the network of the host', { namespaces: { ...good.namespaces, net: 'net:[1]' } }, 'namespace-network'],
    ['in the user namespace of the host', { namespaces: { ...good.namespaces, user: 'user:[1]' } }, 'namespace-user'],
    ['whose mount namespace cannot be read', { namespaces: { ...good.namespaces, mnt: null } }, 'namespace-mount'],
    ['with another process', { processes: [1, 2] }, 'namespace-pid'],
    ['with a socket in its tree', { tree: { ...good.tree, sockets: ['/run/x.sock'] } }, 'sockets-unix-only'],
    ['with a device', { tree: { ...good.tree, devices: ['/dev/kvm c 10:232'] } }, 'devices-minimal'],
    ...['no-new-privileges', 'sockets-unix-only', 'mounts-none-of-host', 'devices-minimal'].map(
      (property): [string, Partial<ProbeDocument>, string] => [
        `whose tree was not walked whole, for ${property}`,
        { tree: { ...good.tree, complete: false } },
        property,
      ],
    ),
    ['with a terminal', { terminal: 34816 }, 'devices-minimal'],
    [
      'with a mount',
      { mounts: [...(good.mounts ?? []), '99 90 0:1 / /host rw - ext4 /dev/vda rw'] },
      'mounts-none-of-host',
    ],
    ['with /sys', { sys: ['class', 'kernel'] }, 'mounts-none-of-host'],
    [
      'with a writable root',
      { mounts: (good.mounts ?? []).map((line) => line.replace('/ ro,', '/ rw,')) },
      'root-read-only',
    ],
    ['whose mounts cannot be read', { mounts: null }, 'root-read-only'],
    [
      'with an executable scratch',
      {
        mounts: (good.mounts ?? []).map((line) => line.replace('/tmp rw,nosuid,nodev,noexec', '/tmp rw,nosuid,nodev')),
      },
      'scratch-limited',
    ],
    ['with too much scratch', { scratch: { bytes: 2 ** 30, inodes: 4097, freeInodes: 1 } }, 'scratch-limited'],
    [
      'that cannot write to its scratch',
      { attempts: { ...good.attempts, 'create /tmp/probe': 'EACCES' } },
      'scratch-limited',
    ],
    ['that sees the host in /proc', { proc: ['kcore', 'self'] }, 'proc-own-processes'],
    [
      'that may dump core',
      { limits: (good.limits ?? []).map((line) => line.replace(/size {8}0/, 'size        unlimited')) },
      'rlimits',
    ],
    [
      'without a limit of processor time',
      { limits: (good.limits ?? []).map((line) => line.replaceAll(' 71 ', ' unlimited ')) },
      'rlimits',
    ],
    ['that does not tell its processor time', { limits: (good.limits ?? []).slice(1) }, 'rlimits'],
    ['that outlives the host in a shortage', { oomScoreAdj: -1000 }, 'rlimits'],
    ['with a variable of the host', { environment: { ...good.environment, LD_PRELOAD: '/x' } }, 'environment-fixed'],
    ['with the name of the host', { hostname: 'vm' }, 'environment-fixed'],
    [
      'with an open directory of the host',
      { descriptors: [...good.descriptors, { fd: 7, target: '/', terminal: false }] },
      'descriptors-fixed',
    ],
    [
      'with a foreign socket',
      { descriptors: [...good.descriptors, { fd: 7, target: 'socket:[9]', terminal: false }] },
      'descriptors-fixed',
    ],
  ])('%s', (_, change, property) => {
    expect(withDocument(change)).toContain(property);
  });

  it.each([
    ['create /probe', 'root-read-only'],
    ['write /proc/sys/kernel/core_pattern', 'root-read-only'],
    ['rewrite uid_map', 'uid-own'],
    ['read /proc/kcore', 'proc-own-processes'],
    ['read /var/run/docker.sock', 'proc-own-processes'],
    ['lower oom_score_adj', 'rlimits'],
  ])('that could %s', (name, property) => {
    expect(withAttempt(name)).toContain(property);
  });

  it('whose namespaces there is nothing to compare with', () => {
    expect(failing({ hostNamespaces: {} })).toEqual(expect.arrayContaining(['namespace-ipc', 'namespace-user']));
  });

  it('by a single call that came out otherwise, a probe that was cut short, and the 32-bit gate', () => {
    const changed = outcomes.map((one) =>
      one.name === 'io_uring_setup' ? { ...one, result: 5, asExpected: false } : one,
    );
    expect(failing({ calls: { ...seen.calls, outcomes: changed } })).toEqual(['seccomp']);
    const socket = outcomes.map((one) =>
      one.name === 'socket:vsock' ? { ...one, result: 5, asExpected: false } : one,
    );
    expect(failing({ calls: { ...seen.calls, outcomes: socket } })).toEqual(['sockets-unix-only']);
    expect(failing({ calls: { ...seen.calls, complete: false } })).toEqual(['seccomp']);
    expect(failing({ calls: { ...seen.calls, survivedForeignGate: true } })).toEqual(['seccomp']);
  });
});

describe('a mount is found', () => {
  const mounts = good.mounts ?? [];
  const shared = (id: number, parent: number, point: string): string =>
    `${id} ${parent} 254:0 /shared ${point} ro,relatime - ext4 /dev/vda rw`;

  it.each([
    ['on what the kernel lists after it', [shared(80, 93, '/tmp/host'), ...mounts]],
    [
      'on a directory in which something else is mounted',
      [...mounts, shared(120, 90, '/usr'), shared(121, 120, '/usr/bin')],
    ],
    ['on top of another one', [...mounts, shared(120, 90, '/usr'), shared(121, 120, '/usr')]],
    ['that claims to stand on itself', [...mounts, shared(120, 120, '/usr')]],
    ['that stands on one that is not told', [...mounts, shared(120, 999, '/usr')]],
  ])('%s', (_, lines) => {
    expect(withDocument({ mounts: lines })).toEqual(['mounts-none-of-host']);
  });

  it.each([
    ['over which something of the cell stands', [...mounts, shared(88, 90, '/dev/x')]],
    ['on a directory that is hidden', [...mounts, shared(88, 90, '/dev/x'), shared(89, 88, '/dev/x/y')]],
  ])('unless no path leads to it: %s', (_, lines) => {
    expect(withDocument({ mounts: lines })).toEqual([]);
  });
});

describe('the report of a probe', () => {
  const records = Buffer.from('GBSP\0\0\0\0');
  records.writeUInt32LE(probeCalls.length, 4);
  const frame = (document: unknown, tail: Buffer = records): Buffer => {
    const json = Buffer.from(JSON.stringify(document));
    return Buffer.concat([Buffer.from(`${json.length}\n`), json, Buffer.from('\n'), tail]);
  };

  it('is read with its document and its records', () => {
    expect(readProbeReport(frame(good)).document).toEqual(good);
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['no length', Buffer.from('{}\n')],
    ['a length that is not its own', Buffer.from('9\n{}\n')],
    ['no JSON', Buffer.from('2\nxx\n')],
    ['another document', frame({ schema: 'glovebox.probe/2' })],
    ['a document with more in it', frame({ ...good, extra: 1 })],
    ['no records', frame(good, Buffer.alloc(0))],
    ['a huge length', Buffer.from('99999999999999999999\n{}\n')],
  ])('is refused when it is %s', (_, bytes) => {
    expect(() => readProbeReport(bytes)).toThrow(expect.objectContaining({ code: 'HOST_UNSUPPORTED' }));
  });
});
