import { allowedNames, cellSeccomp, compileSeccomp } from '@glovebox/cell';
import type { CellPlan } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { makeSpec } from './oci-spec.ts';
import { propertiesOf } from './properties.ts';

const plan: CellPlan = {
  schema: 'glovebox.cell-plan/1',
  role: 'run',
  class: 'ns',
  image: `sha256:${'a'.repeat(64)}`,
  limits: {
    cpu: 0.5,
    bootCpu: 2,
    memoryBytes: 134_217_728,
    pids: 64,
    scratchBytes: 1_048_576,
    scratchInodes: 4096,
    openFiles: 256,
    lifetimeMs: 60_000,
  },
};
const spec = makeSpec({
  plan,
  rootPath: '/mnt',
  ids: { rootId: 0x7000_0000, cellId: 0x7000_0001 },
  arch: 'x64',
  procSubset: true,
});

describe('the specification of a cell', () => {
  it('says exactly this of the process, for every node the same', () => {
    expect({ ...spec.process, args: spec.process.args.length > 3 }).toEqual({
      terminal: false,
      user: { uid: 65532, gid: 65532, umask: 0o077, additionalGids: [] },
      args: true,
      env: ['HOME=/tmp', 'LANG=C.UTF-8', 'PATH=/usr/bin', 'TMPDIR=/tmp', 'TZ=UTC'],
      cwd: '/',
      capabilities: { bounding: [], effective: [], permitted: [], inheritable: [], ambient: [] },
      rlimits: [
        { type: 'RLIMIT_CORE', hard: 0, soft: 0 },
        { type: 'RLIMIT_CPU', hard: 121, soft: 121 },
        { type: 'RLIMIT_FSIZE', hard: 1_052_672, soft: 1_052_672 },
        { type: 'RLIMIT_MEMLOCK', hard: 65_536, soft: 65_536 },
        { type: 'RLIMIT_MSGQUEUE', hard: 0, soft: 0 },
        { type: 'RLIMIT_NICE', hard: 0, soft: 0 },
        { type: 'RLIMIT_NOFILE', hard: 256, soft: 256 },
        { type: 'RLIMIT_NPROC', hard: 128, soft: 128 },
        { type: 'RLIMIT_RTPRIO', hard: 0, soft: 0 },
        { type: 'RLIMIT_SIGPENDING', hard: 256, soft: 256 },
        { type: 'RLIMIT_STACK', hard: 8_388_608, soft: 8_388_608 },
      ],
      noNewPrivileges: true,
      oomScoreAdj: 500,
    });
  });

  it('mounts /proc, /dev and scratch and nothing of the host', () => {
    expect(spec.mounts.map(({ destination, type, options }) => [destination, type, ...options].join(' '))).toEqual([
      '/proc proc nosuid noexec nodev subset=pid',
      '/dev tmpfs ro nosuid noexec mode=755 size=64k nr_inodes=32',
      '/tmp tmpfs nosuid noexec nodev size=1048576 nr_inodes=4097 mode=0700 uid=65532 gid=65532',
    ]);
    expect(spec.root).toEqual({ path: '/mnt', readonly: true });
  });

  it('makes seven namespaces anew and maps two ids', () => {
    expect(spec.linux.namespaces).toEqual(
      ['pid', 'mount', 'network', 'ipc', 'uts', 'cgroup', 'user'].map((type) => ({ type })),
    );
    const mapping = [
      { containerID: 0, hostID: 0x7000_0000, size: 1 },
      { containerID: 65532, hostID: 0x7000_0001, size: 1 },
    ];
    expect([spec.linux.uidMappings, spec.linux.gidMappings]).toEqual([mapping, mapping]);
  });

  it('masks what tells of the host where /proc cannot be narrowed to processes', () => {
    const masked = makeSpec({ plan, rootPath: '/mnt', ids: { rootId: 1, cellId: 2 }, arch: 'x64', procSubset: false });
    expect(masked.linux.maskedPaths).toEqual(
      expect.arrayContaining(['/dev/tty', '/proc/kcore', '/proc/keys', '/proc/kallsyms']),
    );
    expect(masked.linux.readonlyPaths).toContain('/proc/sys');
    expect(propertiesOf(masked)).toContain('proc-masked');
    expect(propertiesOf(masked)).not.toContain('proc-own-processes');
  });
});

describe('the properties of a specification', () => {
  it('are all there when nothing was taken away', () => {
    expect(propertiesOf(spec)).toEqual([
      'capabilities-none',
      'devices-minimal',
      'environment-fixed',
      'mounts-none-of-host',
      'namespace-cgroup',
      'namespace-ipc',
      'namespace-mount',
      'namespace-network',
      'namespace-pid',
      'namespace-user',
      'namespace-uts',
      'no-new-privileges',
      'proc-own-processes',
      'rlimits',
      'root-read-only',
      'scratch-limited',
      'seccomp',
      'sockets-unix-only',
      'uid-own',
    ]);
  });

  it.each([
    ['seccomp', { ...spec, linux: { ...spec.linux, seccomp: undefined } }],
    ['no-new-privileges', { ...spec, process: { ...spec.process, noNewPrivileges: false } }],
    ['root-read-only', { ...spec, root: { ...spec.root, readonly: false } }],
    [
      'mounts-none-of-host',
      { ...spec, mounts: [...spec.mounts, { destination: '/x', type: 'bind', source: '/', options: ['bind'] }] },
    ],
    [
      'mounts-none-of-host',
      { ...spec, mounts: [...spec.mounts, { destination: '/x', type: 'none', source: '/', options: ['rbind'] }] },
    ],
    [
      'mounts-none-of-host',
      { ...spec, mounts: [...spec.mounts, { destination: '/x', type: 'tmpfs', source: '/', options: ['rbind'] }] },
    ],
    ['devices-minimal', { ...spec, linux: { ...spec.linux, readonlyPaths: [] } }],
    [
      'namespace-network',
      { ...spec, linux: { ...spec.linux, namespaces: [{ type: 'network', path: '/proc/1/ns/net' }] } },
    ],
    [
      'capabilities-none',
      {
        ...spec,
        process: { ...spec.process, capabilities: { ...spec.process.capabilities, bounding: ['CAP_CHOWN'] } },
      },
    ],
    ['uid-own', { ...spec, linux: { ...spec.linux, uidMappings: [{ containerID: 65532, hostID: 0, size: 1 }] } }],
    [
      'sockets-unix-only',
      {
        ...spec,
        linux: {
          ...spec.linux,
          seccomp: { ...compileSeccomp('x64'), syscalls: [{ names: ['socket'], action: 'SCMP_ACT_ALLOW' }] },
        },
      },
    ],
  ])('lack %s when the specification takes it away', (property, weakened) => {
    expect(propertiesOf(weakened as typeof spec)).not.toContain(property);
  });
});

describe('the compiled filter', () => {
  const seccomp = compileSeccomp('x64');

  it('refuses with EPERM what it does not name, and knows one architecture', () => {
    expect(seccomp).toMatchObject({
      defaultAction: 'SCMP_ACT_ERRNO',
      defaultErrnoRet: 1,
      architectures: ['SCMP_ARCH_X86_64'],
    });
    expect(compileSeccomp('arm64').architectures).toEqual(['SCMP_ARCH_AARCH64']);
  });

  it('allows without condition the listed names and nothing else', () => {
    const free = seccomp.syscalls.filter(({ action, args }) => action === 'SCMP_ACT_ALLOW' && args === undefined);
    expect(free.flatMap(({ names }) => names)).toEqual(allowedNames('x64', cellSeccomp));
  });

  it('lets clone make threads and no namespace', () => {
    expect(seccomp.syscalls.filter(({ names }) => names.includes('clone'))).toEqual([
      {
        names: ['clone'],
        action: 'SCMP_ACT_ALLOW',
        args: [{ index: 0, value: 0x7e03_0000, valueTwo: 0x1_0000, op: 'SCMP_CMP_MASKED_EQ' }],
      },
    ]);
    expect(seccomp.syscalls.filter(({ names }) => names.includes('clone3'))).toEqual([
      { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: 38 },
    ]);
  });

  it('lets socket make unix sockets alone', () => {
    expect(seccomp.syscalls.filter(({ names }) => names.includes('socket')).flatMap(({ args }) => args)).toEqual([
      { index: 0, value: 1, op: 'SCMP_CMP_EQ' },
    ]);
  });
});
