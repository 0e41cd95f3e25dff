import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { isDead } from '@glovebox/engine/host';
import { openStore } from '@glovebox/store-sqlite';
import { expect } from 'vitest';
import { checkDatabase } from './check-database.ts';
import { startChild } from './child.ts';
import { fractions } from './fractions.ts';

export interface Kills {
  /** Changes that were acknowledged before a kill. */
  acknowledged: number;
  /** Validations that a killed process left behind. */
  left: number;
  /** Of what audit tells, by action. */
  told: { [action: string]: number };
}

/**
 * Kill two writers of one database again and again, at moments of the seed's. After each kill the database must be as it may
 * be, with all that was acknowledged; then what the dead left is recovered, and the next two go on from there.
 */
export async function killWriters(
  path: string,
  { rounds, seed, thread }: { rounds: number; seed: number; thread: 'worker' | 'caller' },
): Promise<Kills> {
  const fraction = fractions(seed);
  const kills: Kills = { acknowledged: 0, left: 0, told: {} };
  for (let round = 0; round < rounds; round++) {
    const about = { seed, round, thread };
    const children = ['a', 'b'].map((name) =>
      startChild('life-cycle-writer.ts', [path, thread, name, String(Math.floor(fraction() * 2 ** 31))]),
    );
    // By what they have done, not by the clock, so that a busy machine does not make the rounds empty.
    const enough = 3 + fraction() * 25;
    const isAlive = (): boolean => children.every(({ process }) => process.exitCode === null);
    while (children.reduce((sum, { lines }) => sum + lines.length, 0) < enough && isAlive()) await setTimeout(1);
    await setTimeout(fraction() * 8);
    for (const { process } of children) process.kill('SIGKILL');
    for (const { ended } of children) {
      const { signal, stderr } = await ended;
      expect({ ...about, signal, stderr }).toEqual({ ...about, signal: 'SIGKILL', stderr: '' });
    }
    expect({ ...about, problems: checkDatabase(path) }).toEqual({ ...about, problems: [] });
    kills.acknowledged += expectTold(
      path,
      children.flatMap(({ lines }) => lines),
    );
    kills.left += await recover(path);
    expect({ ...about, problems: checkDatabase(path) }).toEqual({ ...about, problems: [] });
  }
  kills.told = countActions(path);
  return kills;
}

/** @returns how many lines there were. */
function expectTold(path: string, lines: string[]): number {
  const db = new DatabaseSync(path);
  const find = db.prepare('SELECT count(*) AS n FROM audit WHERE subject = ? AND action = ?');
  const changes = lines.filter((line) => line !== 'open');
  for (const line of changes) {
    const [subject = '', action = ''] = line.split(' ');
    expect({ line, told: (find.get(subject, action) as { n: number }).n > 0 }).toEqual({ line, told: true });
  }
  db.close();
  return changes.length;
}

/** @returns how many drafts were freed; none is held afterwards, as all that held one are dead. */
async function recover(path: string): Promise<number> {
  const store = await openStore(path, { inThread: true });
  const freed = await store.drafts.recoverValidations(isDead, Date.now());
  await store.runs.markLost(isDead, Date.now());
  const drafts = await store.drafts.list({ project: 'default', limit: 1000 });
  expect(drafts.filter(({ state }) => state === 'validating')).toEqual([]);
  await store.close();
  return freed.length;
}

function countActions(path: string): Kills['told'] {
  const db = new DatabaseSync(path);
  const rows = db.prepare('SELECT action, count(*) AS n FROM audit GROUP BY action').all();
  db.close();
  return Object.fromEntries(rows.map(({ action, n }) => [action, n])) as Kills['told'];
}
