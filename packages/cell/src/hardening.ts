import type { CellPlan } from '@glovebox/contract';

/** What every driver says in its own words, where it has a word for it. */

export const cellHostname = 'cell';

/** Above everything that matters: where the whole host is short of memory, cells go first. */
export const cellOomScoreAdj = 500;

/** Parts of /proc that tell of the host or reach it, for where /proc cannot be had without them. */
export const maskedProcPaths = [
  '/proc/acpi',
  '/proc/asound',
  '/proc/bus',
  '/proc/cmdline',
  '/proc/config.gz',
  '/proc/diskstats',
  '/proc/driver',
  '/proc/fs',
  '/proc/interrupts',
  '/proc/iomem',
  '/proc/ioports',
  '/proc/irq',
  '/proc/kallsyms',
  '/proc/kcore',
  '/proc/key-users',
  '/proc/keys',
  '/proc/kmsg',
  '/proc/kpagecount',
  '/proc/kpageflags',
  '/proc/latency_stats',
  '/proc/locks',
  '/proc/modules',
  '/proc/partitions',
  '/proc/sched_debug',
  '/proc/schedstat',
  '/proc/scsi',
  '/proc/slabinfo',
  '/proc/softirqs',
  '/proc/swaps',
  '/proc/sysrq-trigger',
  '/proc/timer_list',
  '/proc/timer_stats',
  '/proc/vmallocinfo',
  '/proc/zoneinfo',
] as const;
export const readonlyProcPaths = ['/proc/sys'] as const;

/**
 * A cell is shown the host's own devices. On a mount that can be written anybody may set the times of one, for the host and
 * all other cells to see. Reading from a device and writing to it do not depend on that. A runtime opens descriptor 0 anew
 * from here.
 */
export const readonlyDevices = [
  '/dev/full',
  '/dev/null',
  '/dev/random',
  '/dev/tty',
  '/dev/urandom',
  '/dev/zero',
] as const;

/** More than all cores for all of the lifetime: the backstop for a driver that can no longer kill. */
export const cpuSeconds = ({ cpu, bootCpu, lifetimeMs }: CellPlan['limits']): number =>
  Math.ceil((lifetimeMs / 1000) * Math.max(cpu, bootCpu)) + 1;

/**
 * By the names of getrlimit(2) without their beginning, in small letters; soft and hard alike. NPROC stands above the pids
 * limit, so that it is the cgroup that refuses and counts.
 */
export const cellRlimits = ({ limits }: CellPlan): [name: string, value: number][] => [
  ['core', 0],
  ['cpu', cpuSeconds(limits)],
  // No file is larger than the one place where files can be written; a page more, so that ENOSPC comes first.
  ['fsize', limits.scratchBytes + 4096],
  ['memlock', 65_536],
  ['msgqueue', 0],
  ['nice', 0],
  ['nofile', limits.openFiles],
  ['nproc', limits.pids + 64],
  ['rtprio', 0],
  ['sigpending', 256],
  ['stack', 8 * 1024 * 1024],
];
