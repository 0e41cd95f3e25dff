import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { checkDatabase } from '../../adapters/store-sqlite/test/support/check-database.ts';
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
  const path = join(copy, 'glovebox.db');
  try {
    return isMade(path) ? checkDatabase(path) : [];
  } finally {
    rmSync(copy, { recursive: true });
  }
}

/** Whether the schema is there to its last step. Before that there is no record. */
function isMade(path: string): boolean {
  const db = new DatabaseSync(path);
  const last = db.prepare("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'audit_checkpoints'").get() as {
    n: number;
  };
  db.close();
  return last.n === 1;
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
