import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';

/** What the kernel counted of one container. What it does not tell is left out. */
export interface CgroupCount {
  peakMemoryBytes?: number;
  peakPids?: number;
  /** How often a new process or thread was refused. */
  pidsRefused?: number;
  oomKills?: number;
}

/** A container's cgroups. Its files are held open, so that a look costs some microseconds. */
export interface LocalCgroup {
  /** @returns undefined once they are not there. */
  read(): CgroupCount | undefined;
  close(): void;
}

/** By controller: where its hierarchy is. Both are the same with version 2. */
interface Hierarchies {
  memory: string[];
  pids: string[];
}

/** Where engines put containers: right below the top, below a parent of theirs, or in a slice. */
const maxDepth = 3;

/**
 * Find a container's cgroups where the engine runs on this very host. Its id is random and in the name of its cgroup, so
 * that a directory with it is that container's and no other's.
 *
 * @param id of the container, 64 hexadecimal digits.
 * @returns undefined where there are none: the engine is elsewhere, or they are not shown here.
 */
export function findLocalCgroup(id: string): LocalCgroup | undefined {
  const { memory, pids } = readHierarchies();
  const memoryPath = firstBelow(memory, id);
  const pidsPath = firstBelow(pids, id);
  if (memoryPath === undefined || pidsPath === undefined) return undefined;
  const files = {
    memoryPeak: open(memoryPath, ['memory.peak', 'memory.max_usage_in_bytes']),
    oom: open(memoryPath, ['memory.events', 'memory.oom_control']),
    pidsPeak: open(pidsPath, ['pids.peak']),
    pidsEvents: open(pidsPath, ['pids.events']),
  };
  return {
    read() {
      const count: CgroupCount = {
        ...named('peakMemoryBytes', numberIn(files.memoryPeak)),
        ...named('peakPids', numberIn(files.pidsPeak)),
        ...named('pidsRefused', numberIn(files.pidsEvents, 'max')),
        ...named('oomKills', numberIn(files.oom, 'oom_kill')),
      };
      return Object.keys(count).length === 0 ? undefined : count;
    },
    close() {
      for (const file of Object.values(files)) if (file !== undefined) closeSync(file);
    },
  };
}

const named = <K extends keyof CgroupCount>(key: K, value: number | undefined): Partial<Pick<CgroupCount, K>> =>
  value === undefined ? {} : ({ [key]: value } as Pick<CgroupCount, K>);

function readHierarchies(): Hierarchies {
  const found: Hierarchies = { memory: [], pids: [] };
  for (const line of (readText('/proc/self/mountinfo') ?? '').split('\n')) {
    const [left = '', right = ''] = line.split(' - ');
    const [type, , options = ''] = right.split(' ');
    const point = left.split(' ')[4] ?? '';
    for (const controller of ['memory', 'pids'] as const) {
      if (type === 'cgroup2' || (type === 'cgroup' && options.split(',').includes(controller)))
        found[controller].push(point);
    }
  }
  return found;
}

function firstBelow(tops: readonly string[], id: string): string | undefined {
  for (const top of tops) {
    let level = [top];
    for (let depth = 0; depth < maxDepth; depth++) {
      const below = level.flatMap(directoriesIn);
      const found = below.find((path) => path.includes(id));
      if (found !== undefined) return found;
      level = below;
    }
  }
  return undefined;
}

function directoriesIn(path: string): string[] {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map((entry) => join(path, entry.name));
  } catch {
    return [];
  }
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** @returns the first of them that there is. */
function open(directory: string, names: readonly string[]): number | undefined {
  for (const name of names) {
    try {
      return openSync(join(directory, name), 'r');
    } catch {
      // This kernel, or this version, has no such file.
    }
  }
  return undefined;
}

/** The one number of a file, or that of a line with this key. Undefined where it is not told, or the cgroup is gone. */
function numberIn(file: number | undefined, key?: string): number | undefined {
  if (file === undefined) return undefined;
  const bytes = Buffer.alloc(4096);
  let text: string;
  try {
    text = bytes.toString('latin1', 0, readSync(file, bytes, 0, bytes.length, 0));
  } catch {
    return undefined;
  }
  const match = (key === undefined ? /^(\d+)$/m : new RegExp(`^${key} (\\d+)$`, 'm')).exec(text);
  return match === null ? undefined : Number(match[1]);
}
