import type { CellPlan, ProbeDocument } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { conformanceChecks, conformanceTable, judgeProbe, type Seen } from './conformance.ts';
import { probedFacts } from './host-facts.ts';
import { attemptNames } from './probe-attempts.ts';
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

const devices = {
  '/dev/full': 'c 1:7',
  '/dev/null': 'c 1:3',
  '/dev/random': 'c 1:8',
  '/dev/tty': 'c 1:3',
  '/dev/urandom': 'c 1:9',
  '/dev/zero': 'c 1:5',
};

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
    ...['null', 'zero', 'full', 'random', 'urandom'].map(device),
    '103 92 0:6 /null /dev/tty ro,relatime - devtmpfs devtmpfs rw,mode=755',
  ],
  mounted: { '/': 'directory', '/proc': 'directory', '/dev': 'directory', '/tmp': 'empty directory', ...devices },
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
    devices: Object.entries(devices).map(([path, number]) => `${path} ${number}`),
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
    ...Object.fromEntries(attemptNames.map((name) => [name, 'EACCES'])),
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
  hostNamespaces: { held: Object.fromEntries(kinds.map((kind) => [kind, [`${kind}:[0]`, `${kind}:[1]`]])) },
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
    expect(failing({ hostNamespaces: { held: {} } })).toEqual(
      expect.arrayContaining(['namespace-ipc', 'namespace-user']),
    );
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

/** A good cell but for one thing; the row that must tell, and no other. */
describe('what looks like a cell and is none is found by one row', () => {
  const mounts = good.mounts ?? [];
  const replaced = (point: string, line: string): Partial<ProbeDocument> => ({
    mounts: mounts.map((mount) => (mount.split(' ')[4] === point ? line : mount)),
  });
  const added = (line: string, kind: string): Partial<ProbeDocument> => ({
    mounts: [...mounts, line],
    mounted: { ...good.mounted, [line.split(' ')[4] ?? '']: kind },
  });
  const scratch = { bytes: 1_048_576, inodes: 4097, freeInodes: 4096 };
  const without = (name: string): Partial<ProbeDocument> => ({
    attempts: Object.fromEntries(Object.entries(good.attempts).filter(([other]) => other !== name)),
  });

  it.each<[string, Partial<ProbeDocument>, string]>([
    ['scratch without a limit of bytes', { scratch: { ...scratch, bytes: 0 } }, 'scratch-limited'],
    ['scratch without a limit of inodes', { scratch: { ...scratch, inodes: 0, freeInodes: 0 } }, 'scratch-limited'],
    ['scratch in which there are files', { scratch: { ...scratch, freeInodes: 4000 } }, 'scratch-limited'],
    ['scratch that is not empty', { mounted: { ...good.mounted, '/tmp': 'directory' } }, 'scratch-limited'],
    [
      'a directory of the host as scratch',
      replaced('/tmp', '93 90 254:0 /srv/shared /tmp rw,nosuid,nodev,noexec - ext4 /dev/vda rw'),
      'mounts-none-of-host',
    ],
    [
      "a directory of the host's memory as scratch",
      replaced('/tmp', '93 90 0:43 /shared /tmp rw,nosuid,nodev,noexec - tmpfs tmpfs rw'),
      'mounts-none-of-host',
    ],
    [
      'a file of the host over a device',
      replaced('/dev/full', '99 92 254:0 /etc/shadow /dev/full ro - ext4 /dev/vda rw'),
      'mounts-none-of-host',
    ],
    [
      'a directory of the host over a device',
      replaced('/dev/zero', '98 92 254:0 /root /dev/zero ro - ext4 /dev/vda rw'),
      'mounts-none-of-host',
    ],
    ['a file where a device is to be', { mounted: { ...good.mounted, '/dev/full': 'other' } }, 'mounts-none-of-host'],
    ['no device', { tree: { ...good.tree, devices: [] } }, 'devices-minimal'],
    [
      'a device under the name of another',
      { tree: { ...good.tree, devices: good.tree.devices.map((one) => one.replace('full c 1:7', 'full c 1:1')) } },
      'devices-minimal',
    ],
    [
      'a directory of the host below /proc',
      added('120 91 254:0 /etc /proc/acpi ro - ext4 /dev/vda rw', 'directory'),
      'mounts-none-of-host',
    ],
    [
      "the host's /proc below /proc",
      added('120 91 0:5 / /proc/self ro - proc proc rw', 'directory'),
      'mounts-none-of-host',
    ],
    [
      "a part of the host's /proc",
      added('120 91 0:5 /sys /proc/sys ro - proc proc rw', 'directory'),
      'mounts-none-of-host',
    ],
    [
      'a part of /proc at another place',
      added('120 91 0:41 /1 /proc/sys ro - proc proc rw', 'directory'),
      'mounts-none-of-host',
    ],
    [
      'a directory in memory that is full',
      added('120 91 0:70 / /proc/acpi ro - tmpfs t rw', 'directory'),
      'mounts-none-of-host',
    ],
    [
      'a directory of one in memory',
      added('120 91 0:70 /sub /proc/acpi ro - tmpfs t rw', 'empty directory'),
      'mounts-none-of-host',
    ],
    ['a file named null', added('120 91 254:0 /null /proc/acpi ro - ext4 /dev/vda rw', 'other'), 'mounts-none-of-host'],
    [
      'another device named null',
      added('120 91 0:6 /null /proc/acpi ro - devtmpfs d rw', 'c 1:1'),
      'mounts-none-of-host',
    ],
    [
      "the host's /proc",
      replaced('/proc', '91 90 0:5 /1 /proc rw,nosuid,nodev,noexec - proc p rw,subset=pid'),
      'mounts-none-of-host',
    ],
    ['no descriptors', { descriptors: [] }, 'descriptors-fixed'],
    ['no error stream', { descriptors: good.descriptors.filter(({ fd }) => fd !== 2) }, 'descriptors-fixed'],
    ['nothing tried on the root', without('create /etc/probe'), 'root-read-only'],
    ['nothing read', without('read /proc/kcore'), 'proc-own-processes'],
    ['no map tried', without('rewrite gid_map'), 'uid-own'],
    ['no score tried', without('lower oom_score_adj'), 'rlimits'],
    [
      'a refusal that is not of the kernel',
      { attempts: { ...good.attempts, 'write /etc/passwd': 'ERR_ACCESS_DENIED' } },
      'root-read-only',
    ],
    ['another map of groups', { gidMap: ['0 1879049872 1', '65532 1879049873 1'] }, 'uid-own'],
    ['a map that is none', { uidMap: ['x'], gidMap: ['x'] }, 'uid-own'],
  ])('%s', (_, change, property) => {
    expect(withDocument(change)).toEqual([property]);
  });

  it.each<[string, Partial<ProbeDocument>]>([
    ['the null device over a file', added('120 91 0:6 /null /proc/keys ro - devtmpfs d rw', 'c 1:3')],
    ['the null device of its own /dev over a file', added('120 91 0:42 /null /proc/keys ro - tmpfs t rw', 'c 1:3')],
    ['an empty directory over one', added('120 91 0:70 / /proc/acpi ro - tmpfs t rw', 'empty directory')],
    ['a part of its own /proc, read-only', added('120 91 0:41 /sys /proc/sys ro - proc proc rw', 'directory')],
  ])('but not %s', (_, change) => {
    expect(withDocument(change)).toEqual([]);
  });

  it('ids that a daemon maps, where the map is none, is low, or is not the same for groups', () => {
    const profile = { ...ownProfile, userNamespace: 'remapped' as const };
    const mapped = (uid: string, gid: string) =>
      failing({ profile, document: { ...good, uidMap: [uid], gidMap: [gid] } });
    expect(mapped('0 700000 65536', '0 700000 65536')).toEqual([]);
    for (const [uid, gid] of [
      ['x', 'x'],
      ['0 0 65536', '0 0 65536'],
      ['0 700000 65536', '0 800000 65536'],
    ] as const)
      expect(mapped(uid, gid)).toEqual(['uid-own']);
  });

  it('scratch that an engine cannot limit in inodes, of which that is not claimed', () => {
    const document = { ...good, scratch: { ...scratch, inodes: 0, freeInodes: 0 } };
    const profile = { ...ownProfile, scratchInodes: 'unlimited' as const };
    const result = judgeProbe({ ...seen, document, profile }).find(({ property }) => property === 'scratch-limited');
    expect(result).toMatchObject({ violations: [], claim: expect.not.stringContaining('inodes') });
    expect(conformanceChecks.find(({ property }) => property === 'scratch-limited')?.claim).toContain('inodes');
  });
});

describe('namespaces of a host that is not seen whole', () => {
  const profile = { ...ownProfile, namespacesBy: 'engine' as const };
  const hostNamespaces = { ...seen.hostNamespaces, unseen: 'it is elsewhere' };
  const factOf = (change: Partial<Seen>) =>
    probedFacts({ properties: [] } as never, judgeProbe({ ...seen, ...change })).find(
      ({ name }) => name === 'namespace-ipc',
    );

  it('are not in force by what an engine says of its cells', () => {
    expect(factOf({ profile, hostNamespaces })).toMatchObject({ state: 'degraded', required: false });
  });

  it('are in force where they were seen, or where what is not new could only be ours', () => {
    expect(factOf({ profile })).toMatchObject({ state: 'in-force', required: true });
    expect(factOf({ hostNamespaces })).toMatchObject({ state: 'in-force', required: true });
  });

  it('are missing where the cell is found in one of them all the same', () => {
    const document = { ...good, namespaces: { ...good.namespaces, ipc: 'ipc:[1]' } };
    expect(factOf({ profile, hostNamespaces, document })).toMatchObject({ state: 'missing', required: true });
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
