import type { ProbeDocument } from '@glovebox/contract';

/** One line of /proc/self/mountinfo. */
export interface Mount {
  id: string;
  /** The mount on which it stands. */
  parent: string;
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
    const [id = '', parent = '', , root = '', point = '', flags = ''] = left.split(' ');
    const [type = '', , options = ''] = right.split(' ');
    return { id, parent, point, root, type, flags: flags.split(','), options: options.split(',') };
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

/** The null device over a file, or an empty directory in memory over one: nothing of what is below can be had. */
export const isMasked = (document: ProbeDocument, path: string): boolean => {
  const mounts = mountsAt(document, path);
  return (
    mounts.length > 0 &&
    mounts.every(({ flags, root, type }) => flags.includes('ro') && (root === '/null' || type === 'tmpfs'))
  );
};
