import { attemptNames, type CellProfile, judgeProbe, ownProfile, type Seen } from '@glovebox/cell';
import type { ProbeDocument } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { gvisorProfile } from './gvisor-profile.ts';

const zeros = '0'.repeat(16);
const root = '8 8 0:8 / / ro  - 9p none ro,trans=fd,rfdno=4,wfdno=4,aname=/';
const scratch = '10 8 0:9 / /tmp rw,noexec  - tmpfs none rw,size=1048576,mode=0700,uid=65532,gid=65532';

/** What a probe in a cell on runsc 20221219 told, as it was seen; of its system calls nothing is judged here. */
const seenDocument: ProbeDocument = {
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
  umask: 18,
  status: { CapInh: zeros, CapPrm: zeros, CapEff: zeros, CapBnd: zeros, Seccomp: '2', Groups: '' },
  uidMap: ['         0          0 4294967295'],
  gidMap: ['         0          0 4294967295'],
  oomScoreAdj: 0,
  limits: null,
  cgroup: [],
  namespaces: { net: 'net:[110]', pid: 'pid:[111]', user: 'user:[112]' },
  mounts: [
    root,
    '9 8 0:6 / /dev rw,noexec  - tmpfs none rw,mode=0755',
    scratch,
    '11 8 0:10 / /sys ro,noexec  - tmpfs none ro,mode=0555,size=4k',
    '12 8 0:11 / /proc rw,noexec  - proc none rw,dentry_cache_limit=1000',
    '13 9 0:12 / /dev/pts ro,noexec  - devpts none ro',
    '14 9 0:13 / /dev/net ro,noexec  - tmpfs none ro,mode=0555,size=4k',
    '15 9 0:14 / /dev/shm ro,noexec  - tmpfs none ro,mode=0555,size=4k',
  ],
  mounted: {
    '/': 'directory',
    '/dev': 'directory',
    '/tmp': 'empty directory',
    '/sys': 'empty directory',
    '/proc': 'directory',
    '/dev/pts': 'directory',
    '/dev/net': 'empty directory',
    '/dev/shm': 'empty directory',
  },
  network: {
    devices: ['Inter-|', ' face |bytes', '    lo:       0'],
    routes: ['Iface\tDestination'],
    routes6: [],
    addresses6: [],
    tcp: [],
    udp: [],
    unix: ['Num       RefCount Protocol'],
  },
  environment: { HOME: '/tmp', LANG: 'C.UTF-8', PATH: '/usr/bin', TMPDIR: '/tmp', TZ: 'UTC' },
  descriptors: [0, 1, 2].map((fd) => ({ fd, target: `host:[${fd + 1}]`, terminal: false })),
  tree: {
    sockets: [],
    devices: [
      '/dev/fuse c 10:229',
      '/dev/full c 1:7',
      '/dev/null c 1:3',
      '/dev/random c 1:8',
      '/dev/tty c 5:0',
      '/dev/urandom c 1:9',
      '/dev/zero c 1:5',
      '/dev/pts/ptmx c 5:2',
    ],
    pipes: [],
    privileged: [],
    entries: 38,
    complete: true,
  },
  root: [],
  dev: [],
  proc: ['cmdline', 'cpuinfo', 'self'],
  processes: [1],
  sys: [],
  hostname: 'cell',
  domainname: null,
  scratch: { bytes: 1_048_576, inodes: 0, freeInodes: 0 },
  attempts: {
    ...Object.fromEntries(attemptNames.map((name) => [name, 'EACCES'])),
    'create /tmp/probe': 'ok',
    'create /probe': 'EACCES',
    'write /dev/null': 'ok',
    'write /dev/tty': 'EIO',
    'read /dev/urandom': 'ok',
    'read /proc/cmdline': 'ok',
    'read /dev/shm': 'ok',
    'lower oom_score_adj': 'ok',
    'rewrite uid_map': 'EPERM',
  },
};

const limits = {
  cpu: 1,
  bootCpu: 1,
  memoryBytes: 2 ** 27,
  pids: 32,
  scratchBytes: 1_048_576,
  scratchInodes: 64,
  openFiles: 64,
  lifetimeMs: 20_000,
};

function failing(change: Partial<ProbeDocument> = {}, profile: CellProfile = gvisorProfile): string[] {
  const seen: Seen = {
    document: { ...seenDocument, ...change },
    calls: { complete: true, survivedForeignGate: false, outcomes: [] } as unknown as Seen['calls'],
    plan: { schema: 'glovebox.cell-plan/1', role: 'probe', class: 'gvisor', image: `sha256:${'0'.repeat(64)}`, limits },
    hostNamespaces: { held: { net: ['net:[1]'], pid: ['pid:[1]'], user: ['user:[1]'] } },
    profile,
  };
  return judgeProbe(seen).flatMap(({ property, violations }) => (violations.length > 0 ? [property] : []));
}

describe('a cell on a kernel in user space', () => {
  it('is taken for what it is by its own profile, and not by that of a cell on Linux', () => {
    expect(failing()).toEqual([]);
    expect(failing({}, ownProfile).length).toBeGreaterThan(5);
  });

  it.each<[string, Partial<ProbeDocument>]>([
    ['namespace-network', { network: { ...seenDocument.network, devices: ['', '', '  eth0: 0'] } }],
    ['namespace-pid', { processes: [1, 7] }],
    ['uid-own', { ids: { uid: 0, euid: 0, gid: 0, egid: 0 } }],
    ['uid-own', { attempts: { ...seenDocument.attempts, 'rewrite uid_map': 'ok' } }],
    ['capabilities-none', { status: { ...seenDocument.status, CapEff: '0000000000000001' } }],
    ['capabilities-none', { status: { ...seenDocument.status, CapAmb: '0000000000000001' } }],
    ['capabilities-none', { status: { CapInh: zeros, Seccomp: '2', Groups: '' } }],
    ['no-new-privileges', { status: { ...seenDocument.status, NoNewPrivs: '0' } }],
    ['no-new-privileges', { tree: { ...seenDocument.tree, privileged: ['/usr/bin/su'] } }],
    ['seccomp', { status: { ...seenDocument.status, Seccomp: '0' } }],
    ['root-read-only', { mounts: [root.replace(' ro ', ' rw '), ...(seenDocument.mounts ?? []).slice(1)] }],
    ['root-read-only', { attempts: { ...seenDocument.attempts, 'create /probe': 'ok' } }],
    ['mounts-none-of-host', { mounts: [...(seenDocument.mounts ?? []), '20 8 0:20 / /mnt ro  - 9p none ro'] }],
    ['mounts-none-of-host', { sys: ['kernel'] }],
    ['devices-minimal', { tree: { ...seenDocument.tree, devices: ['/dev/kvm c 10:232'] } }],
    ['proc-own-processes', { attempts: { ...seenDocument.attempts, 'read /proc/kcore': 'ok' } }],
    ['scratch-limited', { scratch: { bytes: 2 ** 40, inodes: 0, freeInodes: 0 } }],
    ['scratch-limited', { scratch: { bytes: 0, inodes: 0, freeInodes: 0 } }],
    ['mounts-none-of-host', { mounted: { ...seenDocument.mounted, '/dev/shm': 'directory' } }],
    ['devices-minimal', { tree: { ...seenDocument.tree, devices: [] } }],
    [
      'scratch-limited',
      { mounts: (seenDocument.mounts ?? []).map((line) => (line === scratch ? line.replace(',noexec', '') : line)) },
    ],
    ['environment-fixed', { environment: { ...seenDocument.environment, SECRET: 'x' } }],
    ['descriptors-fixed', { descriptors: [{ fd: 0, target: '/etc/shadow', terminal: false }] }],
    ['descriptors-fixed', { descriptors: [{ fd: 5, target: 'host:[7]', terminal: false }] }],
  ])('is found out at %s by %j', (property, change) => {
    expect(failing(change)).toContain(property);
  });
});
