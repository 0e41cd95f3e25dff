import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** What the kernel counted of one container. What it does not tell is left out. */
export interface CgroupCount {
  peakMemoryBytes?: number;
  peakPids?: number;
  /** How often a new process or thread was refused. */
  pidsRefused?: number;
  oomKills?: number;
}

/** Looks at a container's cgroups, as long as they are there. @returns undefined once they are not. */
export type CgroupReader = () => CgroupCount | undefined;

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
export function findLocalCgroup(id: string): CgroupReader | undefined {
  const { memory, pids } = readHierarchies();
  const memoryPath = firstBelow(memory, id);
  const pidsPath = firstBelow(pids, id);
  if (memoryPath === undefined || pidsPath === undefined) return undefined;
  return () => {
    const count: CgroupCount = {
      ...named('peakMemoryBytes', readNumber(memoryPath, ['memory.peak', 'memory.max_usage_in_bytes'])),
      ...named('peakPids', readNumber(pidsPath, ['pids.peak'])),
      ...named('pidsRefused', readKey(pidsPath, 'pids.events', 'max')),
      ...named(
        'oomKills',
        readKey(memoryPath, 'memory.events', 'oom_kill') ?? readKey(memoryPath, 'memory.oom_control', 'oom_kill'),
      ),
    };
    return Object.keys(count).length === 0 ? undefined : count;
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

function readNumber(path: string, files: readonly string[]): number | undefined {
  for (const file of files) {
    const text = readText(join(path, file))?.trim();
    if (text !== undefined && /^\d+$/.test(text)) return Number(text);
  }
  return undefined;
}

function readKey(path: string, file: string, key: string): number | undefined {
  const match = new RegExp(`^${key} (\\d+)$`, 'm').exec(readText(join(path, file)) ?? '');
  return match === null ? undefined : Number(match[1]);
}
