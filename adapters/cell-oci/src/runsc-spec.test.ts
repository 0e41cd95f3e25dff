import { planRunCell } from '@glovebox/cell';
import type { Digest, RunLimits } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { makeSpec } from './oci-spec.ts';
import { toRunscSpec } from './runsc-spec.ts';

const limits: RunLimits = {
  cpu: 1,
  memoryBytes: 2 ** 27,
  pids: 64,
  timeoutMs: 1000,
  outputBytes: 1,
  logBytes: 1,
  filesBytes: 0,
  filesCount: 0,
  scratchBytes: 4096,
};
const plan = planRunCell(`sha256:${'0'.repeat(64)}` as Digest, limits, 'gvisor');
const whole = makeSpec({
  plan,
  rootPath: '/mnt/rootfs',
  ids: { rootId: 1, cellId: 2 },
  arch: 'x64',
  procSubset: true,
  apparmorProfile: 'glovebox-cell',
  wiring: { kind: 'stdio', marker: 'm' },
});
const spec = toRunscSpec(whole);

it('says of the host what any specification of ours says, but for what runsc cannot have', () => {
  expect(spec.process.args[0]).toBe('/glovebox/stdio');
  expect(spec.process.args.at(-1)).toBe('stdio');
  expect(spec.process).toEqual({ ...whole.process, apparmorProfile: undefined });
  expect(spec.root).toEqual(whole.root);
  expect(spec.linux.namespaces.map(({ type }) => type)).toEqual(['pid', 'mount', 'network', 'ipc', 'uts', 'cgroup']);
  expect([spec.linux.uidMappings, spec.linux.gidMappings]).toEqual([[], []]);
});

it('puts an empty directory over each that runsc fills unasked, and mounts nothing of the host', () => {
  expect(spec.mounts.map(({ destination, type }) => `${type} ${destination}`)).toEqual([
    'proc /proc',
    'tmpfs /dev',
    'tmpfs /tmp',
    'tmpfs /sys',
    'tmpfs /dev/pts',
    'tmpfs /dev/net',
    'tmpfs /dev/shm',
  ]);
  for (const { options } of spec.mounts.slice(3)) expect(options).toEqual(expect.arrayContaining(['ro', 'noexec']));
});

it('allows no call that is not on the list, and lets the C library do without clone3', () => {
  const [before, after] = [whole.linux.seccomp, spec.linux.seccomp];
  expect(after?.defaultAction).toBe('SCMP_ACT_ERRNO');
  const allowed = (profile: typeof before) => profile?.syscalls.filter(({ action }) => action === 'SCMP_ACT_ALLOW');
  expect(allowed(after)).toEqual(allowed(before));
  const others = after?.syscalls.filter(({ action }) => action !== 'SCMP_ACT_ALLOW');
  expect(others).toEqual([{ names: ['clone3'], action: 'SCMP_ACT_TRACE' }]);
});
