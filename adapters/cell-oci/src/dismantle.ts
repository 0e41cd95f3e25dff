import { setTimeout as sleep } from 'node:timers/promises';
import type { UidClaim, UidClaims } from '@glovebox/cell/host';
import { GloveboxError } from '@glovebox/contract';
import { killProcesses, listProcesses, removeCgroups } from './cell-cgroup.ts';
import { type CellFolder, removeCellFolder } from './cell-folder.ts';
import type { CgroupHierarchies } from './cgroup-hierarchies.ts';

/** How long the death of a namespace may take before its processes are killed one by one, and before we give up. */
const patienceMs = 200;
const giveUpMs = 15_000;

export interface Traces {
  hierarchies: CgroupHierarchies;
  name: string;
  folder: CellFolder;
  claims: UidClaims;
  claim: UidClaim;
}

/** Wait until no process is in the cell's cgroups; from `patienceMs` on kill what is. Resolves at `giveUpMs` at the latest. */
export async function awaitEmpty({ hierarchies, name }: Pick<Traces, 'hierarchies' | 'name'>): Promise<void> {
  const started = performance.now();
  for (let pauseMs = 1; mayHaveProcesses(hierarchies, name); pauseMs = Math.min(20, pauseMs * 1.5)) {
    const waitedMs = performance.now() - started;
    if (waitedMs > giveUpMs) return;
    if (waitedMs > patienceMs) killProcesses(hierarchies, name);
    await sleep(pauseMs);
  }
}

/** What cannot be told is not taken for dead. */
function mayHaveProcesses(hierarchies: CgroupHierarchies, name: string): boolean {
  try {
    return listProcesses(hierarchies, name).length > 0;
  } catch {
    return true;
  }
}

/**
 * Remove every trace of a cell. The uid is released last, and only when the kernel has let all cgroups go, which it does
 * not while a process of the cell lives: a uid that is still in use must not be given to another cell.
 *
 * @returns what is left and why; a later sweep tries again.
 */
export async function dismantle(traces: Traces): Promise<GloveboxError | undefined> {
  const { hierarchies, name } = traces;
  const started = performance.now();
  for (let pauseMs = 1; removeCgroups(hierarchies, name).left > 0; pauseMs = Math.min(20, pauseMs * 1.5)) {
    if (performance.now() - started > giveUpMs) {
      return new GloveboxError('CELL_LOST', {
        message: `A cell could not be confirmed dead: ${name}`,
        hint: 'Run glovebox doctor.',
      });
    }
    killProcesses(hierarchies, name);
    await sleep(pauseMs);
  }
  try {
    removeCellFolder(traces.folder);
    traces.claims.release(traces.claim);
    return undefined;
  } catch (thrown) {
    return new GloveboxError('CELL_LOST', {
      message: `A trace of a dead cell is left: ${String(thrown)}`,
      cause: thrown,
    });
  }
}
