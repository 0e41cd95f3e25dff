import { closeSync, constants, mkdirSync, openSync, readdirSync, readFileSync, rmdirSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, hostError } from '@glovebox/cell/host';
import { type CellPlan, GloveboxError } from '@glovebox/contract';
import { type CgroupHierarchies, cgroupFolder, type Hierarchy } from './cgroup-hierarchies.ts';
import { type ControlWrite, cpuWrites, deviceWrites, limitWrites, readCounter, swapOf } from './cgroup-limits.ts';

/**
 * The cgroups of one cell, in every hierarchy that limits it. They are ours and not the runtime's, so that peaks and
 * counters can still be read when the runtime is gone, and so that nothing but an empty cgroup proves a cell dead.
 *
 * `direct`: the launcher, which becomes the runtime, joins the limited cgroup itself and is counted in it (one task).
 * `nested`: the runtime insists on making cgroups (runc): it sits in `launcher` beside the limited `cell`, in which it
 * makes one of its own without limits.
 *
 * `whole`: as `direct`, for a runtime that is the cell's kernel (runsc): all of its processes are limited with the cell.
 */
export type CgroupShape = 'direct' | 'nested' | 'whole';

export interface CgroupUse {
  oomKills: number;
  /** Whether the charge came up to the limit. Not a sign of an out-of-memory kill by itself: caches are dropped first. */
  memoryLimitReached: boolean;
  pidsLimitHit: boolean;
  peakMemoryBytes: number | null;
  peakPids: number | null;
}

export interface CellCgroup {
  /** Limits in force, as property names. */
  readonly properties: readonly string[];
  setCpu(cores: number): void;
  readUse(): CgroupUse;
}

/** The kernel charges memory in batches of at most 64 pages. */
const chargeBatchBytes = 64 * 4096;

/**
 * What is counted besides the cell's own tasks. `direct`: the runtime process that waits for the cell. `whole`: a kernel in
 * user space has a thread of its own and one more that the processor runs for each of the cell's threads, and 33 besides
 * them were seen with Node.js idle; it grows threads while it waits for the host.
 */
function extraTasks(shape: CgroupShape, pids: number): number {
  if (shape === 'whole') return pids + 64;
  return shape === 'direct' ? 1 : 0;
}

/** Those whose limits a cell gets; devices only where version 1 has them. */
export const cellControllers = ['memory', 'pids', 'cpu', 'devices'] as const;
const requiredControllers = ['memory', 'pids', 'cpu'] as const;

export const missingControllers = (hierarchies: CgroupHierarchies): string[] =>
  requiredControllers.filter((controller) => hierarchies.of(controller) === undefined);

/**
 * Make and limit the cgroups of one cell. Nothing is left of them when it throws.
 *
 * @throws GloveboxError `CGROUP_UNAVAILABLE`.
 */
export function createCellCgroup(
  hierarchies: CgroupHierarchies,
  name: string,
  shape: CgroupShape,
  limits: CellPlan['limits'],
): CellCgroup {
  const missing = missingControllers(hierarchies);
  if (missing.length > 0) {
    throw new GloveboxError('CGROUP_UNAVAILABLE', { message: `No cgroup controller for ${missing.join(', ')}.` });
  }
  const used = limitedHierarchies(hierarchies);
  try {
    for (const hierarchy of used) makeDirectories(hierarchy, name, shape);
    return openCellCgroup(hierarchies, name, shape, limits);
  } catch (thrown) {
    removeCgroups(hierarchies, name);
    throw hostError(thrown, 'CGROUP_UNAVAILABLE', 'Cannot make a cgroup');
  }
}

function openCellCgroup(
  hierarchies: CgroupHierarchies,
  name: string,
  shape: CgroupShape,
  limits: CellPlan['limits'],
): CellCgroup {
  const limited = (hierarchy: Hierarchy): string =>
    join(hierarchy.mountPoint, cgroupFolder, name, ...(shape === 'nested' ? ['cell'] : []));
  const file = (controller: string, fileName: string): string => {
    const hierarchy = hierarchies.of(controller);
    if (hierarchy === undefined) throw new TypeError(`no hierarchy for ${controller}`);
    return join(limited(hierarchy), fileName);
  };
  const absent = new Set<string>();
  const apply = (writes: readonly ControlWrite[]): void => {
    for (const write of writes) {
      const written = writeControl(file(write.controller, write.file), write.value, write.optional ?? false);
      if (!written) absent.add(write.file);
    }
  };
  const extra = extraTasks(shape, limits.pids);
  apply(limitWrites(hierarchies, limits, extra, readSwap()));
  // A runtime that makes its own cgroup writes its own list of devices, which ours as a parent would make impossible.
  const devices = shape !== 'nested' ? deviceWrites(hierarchies) : [];
  apply(devices);

  const read = (controller: string, fileName: string): string => {
    try {
      return readFileSync(file(controller, fileName), 'utf8');
    } catch {
      return '';
    }
  };
  const number = (text: string): number | null => (/^\d+\s*$/.test(text) ? Number(text) : null);
  const first = hierarchies.of('memory')?.version === 1;
  const swapFile = first ? 'memory.memsw.limit_in_bytes' : 'memory.swap.max';
  const pidsMax = limits.pids + extra;
  return {
    properties: [
      'cgroup-cpu',
      'cgroup-memory',
      'cgroup-pids',
      ...(absent.has(swapFile) ? [] : ['cgroup-swap']),
      ...(devices.length > 0 ? ['cgroup-devices'] : []),
    ],
    setCpu: (cores) => apply(cpuWrites(hierarchies, cores)),
    readUse: () => {
      const peakMemoryBytes = number(read('memory', first ? 'memory.max_usage_in_bytes' : 'memory.peak'));
      const peakTasks = number(read('pids', 'pids.peak'));
      const hits = readCounter(read('pids', 'pids.events'), 'max') ?? 0;
      return {
        oomKills: readCounter(read('memory', first ? 'memory.oom_control' : 'memory.events'), 'oom_kill') ?? 0,
        memoryLimitReached: peakMemoryBytes !== null && peakMemoryBytes >= limits.memoryBytes - chargeBatchBytes,
        // The runtime's own cgroup, where version 1 counts the refusals, may be gone: then the peak has to tell.
        pidsLimitHit: hits > 0 || (shape === 'nested' && peakTasks !== null && peakTasks >= pidsMax),
        peakMemoryBytes,
        // Of a kernel in user space it cannot be told how many of its threads were the cell's.
        peakPids: peakTasks === null || shape === 'whole' ? null : Math.max(0, peakTasks - extra),
      };
    },
  };
}

/** A kernel without swap has no table; one that cannot be read may name some. */
function readSwap(): 'none' | 'some' {
  try {
    return swapOf(readFileSync('/proc/swaps', 'utf8'));
  } catch (thrown) {
    return errnoOf(thrown) === 'ENOENT' ? 'none' : 'some';
  }
}

const limitedHierarchies = (hierarchies: CgroupHierarchies): Hierarchy[] => [
  ...new Set(cellControllers.flatMap((controller) => hierarchies.of(controller) ?? [])),
];

/**
 * Files to which the launcher writes its pid, 0, before it becomes the runtime.
 *
 * Version 1 has `tasks`, to which a thread writes itself without the lock over all processes that `cgroup.procs` takes
 * and for which it waits an RCU grace period: 7 ms a boot. The launcher has one thread.
 */
export function joinFiles(hierarchies: CgroupHierarchies, name: string, shape: CgroupShape): string[] {
  return limitedHierarchies(hierarchies).map((hierarchy) => {
    const folder = join(hierarchy.mountPoint, cgroupFolder, name, ...(shape === 'nested' ? ['launcher'] : []));
    return join(folder, hierarchy.version === 1 ? 'tasks' : 'cgroup.procs');
  });
}

/** For the runtime's `cgroupsPath`; undefined where the runtime leaves cgroups alone. */
export const runtimeCgroupPath = (name: string, shape: CgroupShape): string | undefined =>
  shape === 'nested' ? `/${cgroupFolder}/${name}/cell/runtime` : undefined;

/** The folder for all cells may be removed by another process, with its last cell, between our two steps: try again. */
function makeDirectories(hierarchy: Hierarchy, name: string, shape: CgroupShape): void {
  const folder = join(hierarchy.mountPoint, cgroupFolder);
  const own = join(folder, name);
  for (let attempt = 0; ; attempt++) {
    try {
      mkdirIfMissing(folder);
      if (hierarchy.version === 2) {
        enableControllers(hierarchy.mountPoint, hierarchy);
        enableControllers(folder, hierarchy);
      }
      mkdirSync(own);
      break;
    } catch (thrown) {
      if (errnoOf(thrown) !== 'ENOENT' || attempt === 100) throw thrown;
    }
  }
  if (shape !== 'nested') return;
  if (hierarchy.version === 2) enableControllers(own, hierarchy);
  mkdirSync(join(own, 'launcher'));
  mkdirSync(join(own, 'cell'));
}

function mkdirIfMissing(path: string): void {
  try {
    mkdirSync(path);
  } catch (thrown) {
    if (errnoOf(thrown) !== 'EEXIST') throw thrown;
  }
}

/** Version 2 gives a controller to children only when the parent, which must hold no process itself, says so. */
function enableControllers(folder: string, hierarchy: Hierarchy): void {
  const wanted = cellControllers.filter((controller) => hierarchy.controllers.includes(controller));
  const control = join(folder, 'cgroup.subtree_control');
  const enabled = new Set(readFileSync(control, 'utf8').trim().split(' '));
  const lacking = wanted.filter((controller) => !enabled.has(controller));
  if (lacking.length > 0) writeControl(control, lacking.map((controller) => `+${controller}`).join(' '), false);
}

/** @returns false when the file is optional and this kernel has none. Every other failure throws. */
function writeControl(path: string, value: string, optional: boolean): boolean {
  let fd: number;
  try {
    fd = openSync(path, constants.O_WRONLY);
  } catch (thrown) {
    if (optional && errnoOf(thrown) === 'ENOENT') return false;
    throw thrown;
  }
  try {
    writeSync(fd, value);
    return true;
  } finally {
    closeSync(fd);
  }
}

/** Every cgroup of a cell, over all hierarchies: a runtime may have made more than we did. Deepest first. */
export function listCgroups(hierarchies: CgroupHierarchies, name: string): string[] {
  return hierarchies.all.flatMap((hierarchy) => listTree(join(hierarchy.mountPoint, cgroupFolder, name)));
}

function listTree(folder: string): string[] {
  let entries: string[];
  try {
    entries = readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch (thrown) {
    if (isGone(thrown)) return [];
    throw thrown;
  }
  return [...entries.flatMap((entry) => listTree(join(folder, entry))), folder];
}

/** ENODEV: open still, and removed. Anything else, such as no descriptor being free, does not say that nothing is there. */
const isGone = (thrown: unknown): boolean => ['ENOENT', 'ENOTDIR', 'ENODEV'].includes(errnoOf(thrown));

/** Host pids of what is in the cell's cgroups. Throws where that cannot be told. */
export function listProcesses(hierarchies: CgroupHierarchies, name: string): number[] {
  const pids = new Set<number>();
  for (const folder of listCgroups(hierarchies, name)) {
    try {
      for (const line of readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n')) {
        // 0 stands for a process outside of our pid namespace.
        if (/^[1-9]\d*$/.test(line)) pids.add(Number(line));
      }
    } catch (thrown) {
      // A threaded cgroup lists no processes; its domain does.
      if (!isGone(thrown) && errnoOf(thrown) !== 'EOPNOTSUPP') throw thrown;
    }
  }
  return [...pids];
}

/**
 * SIGKILL to everything in the cell's cgroups, the second net behind the death of the pid namespace. Version 2 does it in
 * one step without a pid; on version 1 pids are read and killed at once, and the caller repeats until none is left.
 *
 * @returns the processes that were seen; none where they cannot be told now.
 */
export function killProcesses(hierarchies: CgroupHierarchies, name: string): number[] {
  let folders: string[];
  let pids: number[];
  try {
    folders = listCgroups(hierarchies, name);
    pids = listProcesses(hierarchies, name);
  } catch {
    return [];
  }
  for (const folder of folders) {
    try {
      writeControl(join(folder, 'cgroup.kill'), '1', true);
    } catch {
      // Pids below.
    }
  }
  for (const pid of pids) {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Dead already.
    }
  }
  return pids;
}

/**
 * Remove what can be removed. The kernel refuses while any process of it lives, so success proves the cell dead.
 *
 * @returns how many cgroups are left; some, where that cannot be told.
 */
export function removeCgroups(hierarchies: CgroupHierarchies, name: string): { removed: number; left: number } {
  let removed = 0;
  let left = 0;
  let folders: string[];
  try {
    folders = listCgroups(hierarchies, name);
  } catch {
    return { removed, left: 1 };
  }
  for (const folder of folders) {
    try {
      rmdirSync(folder);
      removed++;
    } catch (thrown) {
      if (errnoOf(thrown) !== 'ENOENT') left++;
    }
  }
  if (left === 0) removeEmptyFolders(hierarchies);
  return { removed, left };
}

function removeEmptyFolders(hierarchies: CgroupHierarchies): void {
  for (const hierarchy of hierarchies.all) {
    try {
      rmdirSync(join(hierarchy.mountPoint, cgroupFolder));
    } catch {
      // Not there, or other cells are in it.
    }
  }
}

/**
 * Names of all cells that have a cgroup on this host.
 *
 * @throws GloveboxError `CGROUP_UNAVAILABLE` where that cannot be told: a uid would be taken for free.
 */
export function listCellNames(hierarchies: CgroupHierarchies): string[] {
  const names = new Set<string>();
  for (const hierarchy of hierarchies.all) {
    try {
      for (const entry of readdirSync(join(hierarchy.mountPoint, cgroupFolder), { withFileTypes: true })) {
        if (entry.isDirectory()) names.add(entry.name);
      }
    } catch (thrown) {
      if (!isGone(thrown)) throw hostError(thrown, 'CGROUP_UNAVAILABLE', 'Cannot list the cgroups of cells');
    }
  }
  return [...names];
}
