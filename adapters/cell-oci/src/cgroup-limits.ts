import type { CellPlan } from '@glovebox/contract';
import type { CgroupHierarchies, Hierarchy } from './cgroup-hierarchies.ts';

/** One value for one control file. `optional` files are not there on every kernel; the property says whether it was. */
export interface ControlWrite {
  controller: string;
  file: string;
  value: string;
  optional?: true;
}

/** Length of the period in which a cell may use its share of processor time, in microseconds. The kernel's default. */
const cpuPeriodUs = 100_000;
const minCpuQuotaUs = 1000;
const pageBytes = 4096;

export const cpuQuotaUs = (cores: number): number => Math.max(minCpuQuotaUs, Math.round(cores * cpuPeriodUs));

const memoryValue = (bytes: number): string => String(Math.floor(bytes / pageBytes) * pageBytes);

/** Devices of a cell: null, zero, full, random, urandom. Version 1 only; elsewhere nobody in a cell can make a device. */
export const deviceNumbers = ['1:3', '1:5', '1:7', '1:8', '1:9'] as const;

/**
 * The limits of a plan, as writes in their order. Memory first, then memory and swap together: version 1 refuses a sum
 * below the memory limit.
 *
 * @param launcherTasks tasks of the runtime that are counted with the cell's own.
 * @param swap whether this host has some. Memory that is swapped out is not counted as memory, so a kernel that cannot limit
 *   both together limits nothing then.
 */
export function limitWrites(
  hierarchies: CgroupHierarchies,
  limits: CellPlan['limits'],
  launcherTasks: number,
  swap: 'none' | 'some',
): ControlWrite[] {
  const optionalWithoutSwap = swap === 'none' ? { optional: true as const } : {};
  const version = (controller: string): Hierarchy['version'] | undefined => hierarchies.of(controller)?.version;
  const memory = memoryValue(limits.memoryBytes);
  const writes: ControlWrite[] = [];
  if (version('memory') === 1) {
    writes.push(
      { controller: 'memory', file: 'memory.limit_in_bytes', value: memory },
      { controller: 'memory', file: 'memory.memsw.limit_in_bytes', value: memory, ...optionalWithoutSwap },
    );
  } else if (version('memory') === 2) {
    writes.push(
      { controller: 'memory', file: 'memory.max', value: memory },
      { controller: 'memory', file: 'memory.swap.max', value: '0', ...optionalWithoutSwap },
      // One killed means all killed: no half-dead cell.
      { controller: 'memory', file: 'memory.oom.group', value: '1', optional: true },
    );
  }
  writes.push({ controller: 'pids', file: 'pids.max', value: String(limits.pids + launcherTasks) });
  writes.push(...cpuWrites(hierarchies, limits.bootCpu));
  return writes;
}

/** @param table the text of /proc/swaps: a heading, and a line for each device in use. */
export const swapOf = (table: string): 'none' | 'some' => (table.trim().split('\n').length > 1 ? 'some' : 'none');

export function cpuWrites(hierarchies: CgroupHierarchies, cores: number): ControlWrite[] {
  const quota = cpuQuotaUs(cores);
  if (hierarchies.of('cpu')?.version === 2) {
    return [{ controller: 'cpu', file: 'cpu.max', value: `${quota} ${cpuPeriodUs}` }];
  }
  // The kernel's own period stands: a new cgroup has the default.
  return [{ controller: 'cpu', file: 'cpu.cfs_quota_us', value: String(quota) }];
}

export function deviceWrites(hierarchies: CgroupHierarchies): ControlWrite[] {
  if (hierarchies.of('devices')?.version !== 1) return [];
  return [
    { controller: 'devices', file: 'devices.deny', value: 'a' },
    ...deviceNumbers.map((numbers) => ({ controller: 'devices', file: 'devices.allow', value: `c ${numbers} rw` })),
  ];
}

/** Parse `key value` lines, such as those of memory.oom_control, memory.events and pids.events. */
export function readCounter(text: string, key: string): number | undefined {
  for (const line of text.split('\n')) {
    const [name, value] = line.trim().split(/\s+/);
    if (name === key && value !== undefined && /^\d+$/.test(value)) return Number(value);
  }
  return undefined;
}
