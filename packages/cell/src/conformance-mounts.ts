import type { ProbeDocument } from '@glovebox/contract';

/** One line of /proc/self/mountinfo. */
export interface Mount {
  id: string;
  /** The mount on which it stands. */
  parent: string;
  /** Number of the file system, as `0:42`. */
  device: string;
  point: string;
  /** What of the file system is mounted: `/` or a path in it. */
  root: string;
  type: string;
  /** Options of this mount, such as ro and noexec. */
  flags: string[];
  /** Options of the file system, such as size. */
  options: string[];
}

function mountsOf(document: ProbeDocument): Mount[] {
  return (document.mounts ?? []).map((line) => {
    const [left = '', right = ''] = line.split(' - ');
    const [id = '', parent = '', device = '', root = '', point = '', flags = ''] = left.split(' ');
    const [type = '', , options = ''] = right.split(' ');
    return { id, parent, device, point, root, type, flags: flags.split(','), options: options.split(',') };
  });
}

const isBelow = (point: string, directory: string): boolean =>
  point !== directory && point.startsWith(directory === '/' ? '/' : `${directory}/`);

/** A root that is its own parent stands beside nothing. */
const isSibling = (other: Mount, mount: Mount): boolean =>
  other !== mount && other.parent === mount.parent && other.id !== other.parent;

/**
 * Mounts that a path leads to. One is hidden when another stands on its root, when one on the same parent stands on a
 * directory above its point, or when its parent is hidden in that last way.
 *
 * Told by who stands on whom. The order of the lines says nothing: the kernel sorts them by ids, and a mount that was
 * made apart and then moved into place has a lower id than what it stands on.
 */
export function reachableMounts(document: ProbeDocument): Mount[] {
  const mounts = mountsOf(document);
  const byId = new Map(mounts.map((mount) => [mount.id, mount]));
  const isCovered = (mount: Mount, depth = 0): boolean => {
    if (mounts.some((other) => isSibling(other, mount) && isBelow(mount.point, other.point))) return true;
    const parent = byId.get(mount.parent);
    // Ids that go round in a circle are no tree, and hide nothing.
    return parent !== undefined && parent !== mount && depth < mounts.length && isCovered(parent, depth + 1);
  };
  const isStoodOn = (mount: Mount): boolean =>
    mounts.some((other) => other !== mount && other.parent === mount.id && other.point === mount.point);
  return mounts.filter((mount) => !isStoodOn(mount) && !isCovered(mount));
}

/** What is reached at a point: one, where the kernel tells the truth. */
export const mountsAt = (document: ProbeDocument, point: string): Mount[] =>
  reachableMounts(document).filter((mount) => mount.point === point);

/** Devices of a cell, with the numbers by which the kernel knows them. `/dev/tty` is the null device over a terminal. */
export const deviceNumbers: Readonly<Record<string, string>> = {
  '/dev/full': 'c 1:7',
  '/dev/null': 'c 1:3',
  '/dev/random': 'c 1:8',
  '/dev/tty': 'c 1:3',
  '/dev/urandom': 'c 1:9',
  '/dev/zero': 'c 1:5',
};

/** A device of some /dev, under its own name there, and what the probe found at that point has its number. */
export const isDeviceNode = (document: ProbeDocument, { root, type, point }: Mount, device: string): boolean =>
  `/dev${root}` === device && ['devtmpfs', 'tmpfs'].includes(type) && document.mounted[point] === deviceNumbers[device];

/** A file system in memory, and not a directory of one. */
export const isOwnTmpfs = ({ root, type }: Mount): boolean => type === 'tmpfs' && root === '/';

/**
 * The null device over a file, or an empty directory in memory over one: nothing of what is below can be had. That it is
 * empty is what the probe found in it; read-only is what keeps it so.
 */
export const isMasked = (document: ProbeDocument, path: string): boolean => {
  const mounts = mountsAt(document, path);
  return (
    mounts.length > 0 &&
    mounts.every(
      (mount) =>
        mount.flags.includes('ro') &&
        (isDeviceNode(document, mount, '/dev/null') ||
          (isOwnTmpfs(mount) && document.mounted[path] === 'empty directory')),
    )
  );
};

/** A part of the cell's own /proc mounted over itself, as is done to make it read-only. */
export const isPartOfProc = (document: ProbeDocument, { flags, type, root, point, device }: Mount): boolean =>
  flags.includes('ro') &&
  type === 'proc' &&
  point === `/proc${root}` &&
  mountsAt(document, '/proc').some((proc) => proc.root === '/' && proc.device === device);
