import type { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { House } from './house.ts';

/** How long the deaths of all cells may take. */
const patienceMs = 30_000;

/**
 * At the first SIGTERM, SIGINT or SIGHUP take no more, kill every cell, and end when they are dead; at the second, and by
 * SIGKILL, end at once: what does not die with this process is swept by the next one.
 */
export function stopOnSignal(server: Server, house: House): void {
  let isStopping = false;
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (isStopping) process.exit(1);
      isStopping = true;
      // The socket's name goes with it.
      server.close();
      void endCells(house).then((isClean) => process.exit(isClean ? 0 : 1));
    });
  }
}

/** @returns whether all of them are confirmed dead. Cells that are asked for meanwhile are killed too. */
async function endCells({ sessions }: House): Promise<boolean> {
  for (const end = performance.now() + patienceMs; performance.now() < end; await sleep(5)) {
    const living = [...sessions.values()].filter((session) => !session.isOver);
    if (living.length === 0) return true;
    for (const session of living) session.doom('cancelled');
  }
  return false;
}
