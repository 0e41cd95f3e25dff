import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Where the controllers of this host are mounted. Three layouts exist: `legacy` (version 1, a mount per controller),
 * `hybrid` (the same, with a version 2 mount beside them, at /sys/fs/cgroup/unified) and `unified` (version 2 alone).
 */
export type CgroupMode = 'legacy' | 'hybrid' | 'unified' | 'none';

export interface Hierarchy {
  version: 1 | 2;
  mountPoint: string;
  /** Controllers that this host has bound to it. Empty for a named hierarchy such as systemd's. */
  controllers: readonly string[];
}

export interface CgroupHierarchies {
  mode: CgroupMode;
  all: readonly Hierarchy[];
  /** The hierarchy of a controller: version 1 where it is mounted so, else version 2. */
  of(controller: string): Hierarchy | undefined;
}

/** Below each mount point: the cells of every Glovebox on this host. */
export const cgroupFolder = 'glovebox';

const unifiedMountPoint = '/sys/fs/cgroup';

export interface MountEntry {
  /** The part of the file system that is mounted. */
  root: string;
  mountPoint: string;
  type: string;
  options: string[];
}

/** Lines of /proc/self/mountinfo; blanks and backslashes in paths are octal there. Lines that do not fit are left out. */
export function parseMountInfo(text: string): MountEntry[] {
  const entries: MountEntry[] = [];
  for (const line of text.split('\n')) {
    const [left, right] = line.split(' - ');
    const fields = left?.split(' ') ?? [];
    const [type, , options] = right?.split(' ') ?? [];
    const [root, mountPoint] = [fields[3], fields[4]];
    if (root === undefined || mountPoint === undefined || type === undefined) continue;
    entries.push({
      root: unescapeOctal(root),
      mountPoint: unescapeOctal(mountPoint),
      type,
      options: options?.split(',') ?? [],
    });
  }
  return entries;
}

const unescapeOctal = (path: string): string =>
  path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)));

/** Options of a version 1 mount that name no controller. */
const mountOptions = new Set(['rw', 'ro', 'xattr', 'noprefix', 'clone_children', 'cpuset_v2_mode', 'favordynmods']);

/**
 * @param mountInfo the text of /proc/self/mountinfo.
 * @param readControllers the text of a version 2 mount's cgroup.controllers, by mount point.
 */
export function findHierarchies(
  mountInfo: string,
  readControllers: (mountPoint: string) => string = readUnifiedControllers,
): CgroupHierarchies {
  // A later mount on the same place hides the earlier one.
  const byMountPoint = new Map<string, Hierarchy>();
  for (const { mountPoint, type, options } of parseMountInfo(mountInfo)) {
    byMountPoint.delete(mountPoint);
    if (type === 'cgroup') {
      const controllers = options.filter((option) => !mountOptions.has(option) && !option.includes('='));
      byMountPoint.set(mountPoint, { version: 1, mountPoint, controllers });
    } else if (type === 'cgroup2') {
      const controllers = readControllers(mountPoint).trim().split(' ').filter(Boolean);
      byMountPoint.set(mountPoint, { version: 2, mountPoint, controllers });
    }
  }
  const all = [...byMountPoint.values()];
  const has = (controller: string) => (hierarchy: Hierarchy) => hierarchy.controllers.includes(controller);
  return {
    mode: modeOf(all),
    all,
    of: (controller) => {
      const candidates = all.filter(has(controller));
      return candidates.find((hierarchy) => hierarchy.version === 1) ?? candidates[0];
    },
  };
}

/** The same host with only the hierarchies that have one of `controllers`. */
export function restrictTo(hierarchies: CgroupHierarchies, controllers: readonly string[]): CgroupHierarchies {
  const used = new Set(controllers.map((controller) => hierarchies.of(controller)));
  return { ...hierarchies, all: hierarchies.all.filter((hierarchy) => used.has(hierarchy)) };
}

function modeOf(all: readonly Hierarchy[]): CgroupMode {
  if (all.some((hierarchy) => hierarchy.version === 2 && hierarchy.mountPoint === unifiedMountPoint)) return 'unified';
  const first = all.some((hierarchy) => hierarchy.version === 1);
  const second = all.some((hierarchy) => hierarchy.version === 2);
  if (first) return second ? 'hybrid' : 'legacy';
  return second ? 'unified' : 'none';
}

function readUnifiedControllers(mountPoint: string): string {
  try {
    return readFileSync(join(mountPoint, 'cgroup.controllers'), 'utf8');
  } catch {
    return '';
  }
}

export const readHierarchies = (): CgroupHierarchies => findHierarchies(readFileSync('/proc/self/mountinfo', 'utf8'));

/**
 * The version 2 mount that crun takes for a sign of a hybrid host, which it refuses even where it is told to leave
 * cgroups alone. Undefined where there is none.
 */
export function hybridMountPoint(hierarchies: CgroupHierarchies): string | undefined {
  if (hierarchies.mode !== 'hybrid') return undefined;
  return hierarchies.all.find((hierarchy) => hierarchy.version === 2)?.mountPoint;
}
