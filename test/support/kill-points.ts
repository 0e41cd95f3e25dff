import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import type { RunningCli } from './cli.ts';
import type { CliHome } from './use-cli.ts';

/** A generator of numbers from 0 to 1 that gives the same ones for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Moments at which to kill something that takes `spanMs`: one in each of as many equal parts, in an order of the seed's. */
export function killPoints(count: number, spanMs: number, seed: number): number[] {
  const random = seeded(seed);
  return Array.from({ length: count }, (_, i) => Math.round(((i + random()) / count) * spanMs));
}

/**
 * SIGKILL to the program and its launcher after so long.
 *
 * @returns whether it still ran.
 */
export async function killAfter(running: RunningCli, ms: number): Promise<boolean> {
  await Promise.race([sleep(ms), running.done]);
  const worker = running.workerPid();
  const isRunning = running.child.exitCode === null;
  for (const pid of [worker, running.child.pid]) {
    try {
      if (isRunning && pid !== undefined) process.kill(pid, 'SIGKILL');
    } catch {
      // It ended at this moment.
    }
  }
  await running.done;
  return isRunning;
}

/** Resolves when there is no such process, or only its entry for a parent that has yet to look. */
export async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      if (/^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))) return;
    } catch {
      return;
    }
    await sleep(10);
  }
}

/** Of the cells of a data directory: what lives still. The kernel takes a moment to let the dead go. */
export async function livingProcesses(home: CliHome): Promise<string[]> {
  for (let tries = 0; ; tries++) {
    const living = home.residue().filter((line) => line.startsWith('processes'));
    if (living.length === 0 || tries === 100) return living;
    await sleep(20);
  }
}

/** What docs/stages/record.md says holds at any moment, after any crash. Problems, a line each; empty where there is no database yet. */
export function brokenRecords(dataDir: string): string[] {
  const copy = mkdtempSync(join(tmpdir(), 'glovebox-records-'));
  // Looked at in a copy: opening a database changes what lies beside it.
  for (const name of ['glovebox.db', 'glovebox.db-wal'])
    if (existsSync(join(dataDir, name))) copyFileSync(join(dataDir, name), join(copy, name));
  const db = new DatabaseSync(join(copy, 'glovebox.db'));
  try {
    const tables = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'attempts'").get() as { n: number };
    if (tables.n === 0) return [];
    const problems: string[] = [];
    const check = db.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[];
    if (check[0]?.integrity_check !== 'ok') problems.push(`integrity: ${check[0]?.integrity_check}`);
    const foreign = db.prepare('PRAGMA foreign_key_check').all();
    if (foreign.length > 0) problems.push(`foreign keys: ${foreign.length}`);
    const attempts = db
      .prepare(
        `SELECT attempts.id AS id, attempts.state AS state, runs.state AS runState, attempt_ends.attempt_id AS ended
         FROM attempts JOIN runs ON runs.id = attempts.run_id LEFT JOIN attempt_ends ON attempt_ends.attempt_id = attempts.id`,
      )
      .all() as { id: string; state: string; runState: string; ended: string | null }[];
    const entries = db
      .prepare('SELECT seq, attempt_id AS id, from_state AS "from", to_state AS "to" FROM journal ORDER BY seq')
      .all() as {
      seq: number;
      id: string;
      from: string | null;
      to: string;
    }[];
    for (const [i, { seq }] of entries.entries())
      if (seq !== i + 1) problems.push(`journal: entry ${i + 1} has number ${seq}`);
    for (const { id, state, runState, ended } of attempts) {
      const own = entries.filter((entry) => entry.id === id);
      const chain = own.every(({ from }, i) => from === (own[i - 1]?.to ?? null));
      if (!chain || own.at(-1)?.to !== state) problems.push(`${id}: its journal does not lead to ${state}`);
      if (runState !== state) problems.push(`${id}: its run is ${runState}, it is ${state}`);
      const isEnd = state !== 'QUEUED' && state !== 'RUNNING';
      if (isEnd !== (ended !== null))
        problems.push(`${id}: it is ${state} and has ${ended === null ? 'no' : 'an'} end`);
      const logs = db.prepare('SELECT seq FROM logs WHERE attempt_id = ? ORDER BY seq').all(id) as { seq: number }[];
      if (logs.some(({ seq }, i) => seq !== i + 1)) problems.push(`${id}: its logs have a gap`);
    }
    return problems;
  } finally {
    db.close();
    rmSync(copy, { recursive: true });
  }
}

export interface ListedRun {
  id: string;
  state: string;
}

export async function listRuns(home: CliHome): Promise<ListedRun[]> {
  const { code, stderr, json } = await home.run(['run', 'list', '--limit', '1000', '--json']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return json().runs as ListedRun[];
}

/**
 * After a kill: nothing of a cell lives, the next command leaves no trace, every record is whole and every attempt ended,
 * and nothing half-written is there.
 *
 * @param next the command that comes next. @returns all runs.
 */
export async function expectRecovery(home: CliHome, next: 'doctor' | 'run list', about: string): Promise<ListedRun[]> {
  expect({ about, living: await livingProcesses(home) }).toEqual({ about, living: [] });
  if (next === 'doctor')
    expect({ about, code: (await home.run(['doctor', '--json'])).code }).toEqual({ about, code: 0 });
  const runs = await listRuns(home);
  expect({ about, residue: home.residue() }).toEqual({ about, residue: [] });
  expect({ about, broken: brokenRecords(home.dataDir) }).toEqual({ about, broken: [] });
  expect({ about, leftovers: home.leftovers() }).toEqual({ about, leftovers: [] });
  expect({ about, open: runs.filter(({ state }) => ['QUEUED', 'RUNNING'].includes(state)) }).toEqual({
    about,
    open: [],
  });
  return runs;
}
