import { describe, expect, it } from 'vitest';
import { findHierarchies } from './cgroup-hierarchies.ts';
import { cpuQuotaUs, cpuWrites, deviceWrites, limitWrites, readCounter, swapOf } from './cgroup-limits.ts';

const mount = (mountPoint: string, type: string, options: string): string =>
  `32 31 0:29 / ${mountPoint} rw - ${type} ${type} ${options}`;
const first = findHierarchies(
  ['memory', 'pids', 'cpu', 'devices']
    .map((name) => mount(`/sys/fs/cgroup/${name}`, 'cgroup', `rw,${name}`))
    .join('\n'),
  () => '',
);
const second = findHierarchies(mount('/sys/fs/cgroup', 'cgroup2', 'rw'), () => 'cpu memory pids');

const limits = {
  cpu: 0.5,
  bootCpu: 2,
  memoryBytes: 128 * 1024 * 1024 + 1,
  pids: 64,
  scratchBytes: 4096,
  scratchInodes: 16,
  openFiles: 64,
  lifetimeMs: 1000,
};
const asText = (writes: { file: string; value: string; optional?: true }[]): string[] =>
  writes.map(({ file, value, optional }) => `${file}=${value}${optional ? ' if there' : ''}`);

describe('the limits of a plan', () => {
  it('are written in the words of version 1, memory before memory and swap', () => {
    expect(asText(limitWrites(first, limits, 1, 'none'))).toEqual([
      'memory.limit_in_bytes=134217728',
      'memory.memsw.limit_in_bytes=134217728 if there',
      'pids.max=65',
      'cpu.cfs_quota_us=200000',
    ]);
  });

  it('are written in the words of version 2, with no swap and one death for all', () => {
    expect(asText(limitWrites(second, limits, 0, 'none'))).toEqual([
      'memory.max=134217728',
      'memory.swap.max=0 if there',
      'memory.oom.group=1 if there',
      'pids.max=64',
      'cpu.max=200000 100000',
    ]);
  });

  it('must all be there where the host has swap, which is no memory to the kernel', () => {
    const optional = (hierarchies: typeof first) =>
      asText(limitWrites(hierarchies, limits, 0, 'some')).filter((text) => text.endsWith('if there'));
    expect(optional(first)).toEqual([]);
    expect(optional(second)).toEqual(['memory.oom.group=1 if there']);
    expect(swapOf('Filename Type Size Used Priority\n/dev/vdb partition 1024 0 -2\n')).toBe('some');
    expect(swapOf('Filename Type Size Used Priority\n')).toBe('none');
  });

  it('tighten processor time alone at dispatch', () => {
    expect(asText(cpuWrites(first, 0.5))).toEqual(['cpu.cfs_quota_us=50000']);
    expect(asText(cpuWrites(second, 0.5))).toEqual(['cpu.max=50000 100000']);
    expect(cpuQuotaUs(0.001)).toBe(1000);
  });

  it('allow five devices where version 1 has the controller, and say nothing elsewhere', () => {
    expect(asText(deviceWrites(first))).toEqual([
      'devices.deny=a',
      'devices.allow=c 1:3 rw',
      'devices.allow=c 1:5 rw',
      'devices.allow=c 1:7 rw',
      'devices.allow=c 1:8 rw',
      'devices.allow=c 1:9 rw',
    ]);
    expect(deviceWrites(second)).toEqual([]);
  });
});

it('reads a counter by its whole name', () => {
  const events = 'low 0\nhigh 3\nmax 12\noom 1\noom_kill 2\noom_group_kill 7\n';
  expect(readCounter(events, 'oom_kill')).toBe(2);
  expect(readCounter(events, 'max')).toBe(12);
  expect(readCounter('oom_kill_disable 0\nunder_oom 0\noom_kill 1\n', 'oom_kill')).toBe(1);
  expect(readCounter(events, 'oom_kil')).toBeUndefined();
  expect(readCounter('max many\n', 'max')).toBeUndefined();
});
