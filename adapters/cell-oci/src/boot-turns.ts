import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cell, createTurns, type Turns } from '@glovebox/cell';

/**
 * Lets a few boots of a driver be under way at a time, and the others in the order in which they came. To make a container
 * takes processor time and locks that the whole kernel has one of: 300 boots at once on two processors hindered one another
 * until nearly all were past their deadline. What waits holds nothing yet: no uid, no descriptor, no process.
 */
export const createBootTurns = (atOnce: number = 2 * Math.max(2, availableParallelism())): Turns => createTurns(atOnce);

/** Resolves when the runtime has made the container, as the file that it writes then tells, or when the cell is dead. */
export async function whenMade(cell: Cell, pidFile: string): Promise<void> {
  let isDead = false;
  void cell.ended.then(() => {
    isDead = true;
  });
  while (!isDead && !existsSync(pidFile)) await sleep(4);
}
