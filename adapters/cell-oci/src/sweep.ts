import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SweepReport } from '@glovebox/cell';
import type { UidClaims } from '@glovebox/cell/host';
import { errnoOf, judgeOwner, type OwnedName, parseOwnedName } from '@glovebox/cell/host';
import { killProcesses, listCellNames, removeCgroups } from './cell-cgroup.ts';
import { cellsFolder, listCellFolders, removeCellFolder } from './cell-folder.ts';
import type { CgroupHierarchies } from './cgroup-hierarchies.ts';

/** How long the processes of one dead owner's cell may take to die. */
const patienceMs = 10_000;

export interface SweepContext {
  runDirectory: string;
  hierarchies: CgroupHierarchies;
  claims: UidClaims;
  /** Whether this very process made it. */
  isOwn(name: OwnedName): boolean;
  /** Of its own: those whose traces it failed to remove. They are swept like a dead owner's. */
  isLost(name: OwnedName): boolean;
}

/**
 * Remove what dead owners left, in the order in which a boot makes it the other way round: processes, cgroups, bundle
 * directories of this data directory, and last the uid claims, each only when nothing of its cell is left. Names carry
 * their owner, so a thing without a legible name is nobody's to judge and stays.
 *
 * The kernel has killed a dead owner's cells before any sweep; what is left is as a rule empty.
 */
export async function sweepHost(context: SweepContext): Promise<SweepReport> {
  const { hierarchies, claims } = context;
  const removed = { cells: 0, cgroups: 0, directories: 0, uidClaims: 0, processes: 0 };
  const cells = new Set<string>();
  const spared = new Set<string>();
  const mayRemove = (label: string, name: OwnedName | undefined): name is OwnedName => {
    if (name !== undefined && isAbandoned(context, name)) return true;
    // Live cells of our own are neither removed nor unknown.
    if (name === undefined || !context.isOwn(name)) spared.add(name?.cell ?? label);
    return false;
  };

  for (const text of listCellNames(hierarchies)) {
    const name = parseOwnedName(text);
    if (!mayRemove(text, name)) continue;
    const gone = await removeDeadCell(hierarchies, text);
    removed.processes += gone.processes;
    removed.cgroups += gone.cgroups;
    if (gone.left > 0) spared.add(name.cell);
    cells.add(name.cell);
  }
  // What of them the kernel does not let go may hold a process yet: nothing else of such a cell is touched.
  const remaining = new Set(listCellNames(hierarchies).map((text) => parseOwnedName(text)?.cell));

  for (const text of listCellFolders(context.runDirectory)) {
    const name = parseOwnedName(text);
    if (!mayRemove(text, name)) continue;
    if (remaining.has(name.cell)) {
      spared.add(name.cell);
      continue;
    }
    try {
      removeCellFolder({ path: join(cellsFolder(context.runDirectory), text) });
    } catch {
      // Something is mounted on it, or it cannot be changed: that keeps neither the rest nor whoever sweeps at a start.
      spared.add(name.cell);
      continue;
    }
    removed.directories++;
    cells.add(name.cell);
  }

  for (const claim of claims.list()) {
    const { name, kept } = claim;
    if (kept !== undefined) {
      // Its release is its keeper's matter. What of a dead owner waits for that may be a cell that lives.
      if (judgeOwner(kept.name) !== 'alive') spared.add(kept.name.cell);
      continue;
    }
    if (!mayRemove(claim.path, name)) continue;
    // A uid that a process still has must not go to another cell, whoever that process belongs to.
    if (remaining.has(name.cell) || (claim.uids !== undefined && hasProcessOf(claim.uids))) {
      spared.add(name.cell);
      continue;
    }
    claims.release({ path: claim.path, name: claim.text });
    removed.uidClaims++;
    cells.add(name.cell);
  }
  claims.removeEmpty();
  return { removed: { ...removed, cells: cells.difference(spared).size }, unknown: spared.size };
}

function isAbandoned(context: SweepContext, name: OwnedName): boolean {
  if (context.isOwn(name)) return context.isLost(name);
  return judgeOwner(name) === 'dead';
}

/** Kill and remove until nothing is left or the patience ends: the kernel lets a cgroup go some time after its last process. */
async function removeDeadCell(
  hierarchies: CgroupHierarchies,
  name: string,
): Promise<{ processes: number; cgroups: number; left: number }> {
  const seen = new Set<number>();
  const started = performance.now();
  for (let cgroups = 0; ; await sleep(5)) {
    for (const pid of killProcesses(hierarchies, name)) seen.add(pid);
    const { removed, left } = removeCgroups(hierarchies, name);
    cgroups += removed;
    if (left === 0 || performance.now() - started > patienceMs) return { processes: seen.size, cgroups, left };
  }
}

/** The owner of /proc/<pid> is the process's effective uid. */
function hasProcessOf(uids: readonly number[]): boolean {
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      if (uids.includes(statSync(`/proc/${entry}`).uid)) return true;
    } catch (thrown) {
      // Ended meanwhile. What cannot be looked at may well have it.
      if (!['ENOENT', 'ESRCH'].includes(errnoOf(thrown))) return true;
    }
  }
  return false;
}
