import type { Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { House } from './house.ts';

/** How long the deaths of all cells may take, and the reading of what they wrote before. */
const deathMs = 30_000;
const readingMs = 5_000;

/**
 * At the first SIGTERM, SIGINT or SIGHUP begin nothing more, kill every cell, and end when they are dead and, for a moment,
 * when what they wrote is read; at the second, and by SIGKILL, end at once: what does not die with this process is swept by the next one.
 */
export function stopOnSignal(server: Server, house: House): void {
  for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (house.isStopping) process.exit(1);
      house.isStopping = true;
      // The socket's name goes with it.
      server.close();
      void endCells(house).then((isClean) => process.exit(isClean ? 0 : 1));
    });
  }
}

/** @returns whether all cells are confirmed dead, those of an inspection too. */
async function endCells({ sessions, requests }: House): Promise<boolean> {
  let isInspecting = true;
  void requests.settled().then(() => {
    isInspecting = false;
  });
  const areDead = await within(deathMs, () => {
    const living = [...sessions.values()].filter((session) => !session.isOver);
    for (const session of living) session.doom('cancelled');
    return living.length === 0 && !isInspecting;
  });
  await within(readingMs, () => sessions.size === 0);
  return areDead;
}

async function within(patienceMs: number, condition: () => boolean): Promise<boolean> {
  for (const end = performance.now() + patienceMs; performance.now() < end; await sleep(5))
    if (condition()) return true;
  return false;
}
