import { resolve } from 'node:path';
import type { RunStore } from '@glovebox/engine';
import { connectHere, connectWorker } from './connection.ts';
import { createDatabaseFile } from './open-database.ts';

export interface RunStoreOptions {
  /**
   * Work in the calling thread, which each call then blocks until the disk has answered. Opens at once: for commands that
   * read a little and end. Otherwise SQLite has a thread of its own, so that a slow disk stalls no channel and no deadline.
   */
  inThread?: boolean;
  /** How long a transaction waits for those of other processes before `STORE_BUSY`. Default 10 s. */
  busyTimeoutMs?: number;
}

/**
 * Open the store of runs at `path`, making it on first use in a directory that is there, and bringing its schema up to date.
 *
 * Several processes may have it open; each transaction is short. What a method has answered is on the disk.
 *
 * @throws GloveboxError `DATA_DIR_UNUSABLE`, `DISK_FULL`, `STORE_BUSY`, `STORE_CORRUPTED`, `STORE_TOO_NEW`; its methods
 * throw the same, and `create` also `ALREADY_EXISTS`. After `DISK_FULL` or `STORE_BUSY` nothing of the call is kept and it may be
 * repeated.
 */
export async function openRunStore(path: string, options: RunStoreOptions = {}): Promise<RunStore> {
  // Absolute, so that no name is taken for a URI by SQLite.
  const file = resolve(path);
  createDatabaseFile(file);
  const connect = options.inThread === true ? connectHere : connectWorker;
  const connection = await connect({ path: file, busyTimeoutMs: options.busyTimeoutMs ?? 10_000 });
  return {
    create: (run, attempt) => connection.call('create', run, attempt),
    begin: (attemptId, startedAtMs) => connection.call('begin', attemptId, startedAtMs),
    finish: (attemptId, end) => connection.call('finish', attemptId, end),
    async markLost(isDead, atMs) {
      const open = await connection.call('openAttempts');
      // An owner never changes, so a judgement stays true; `lose` skips what has ended in the meantime.
      const dead = open.filter((attempt) => isDead(attempt.owner)).map((attempt) => attempt.id);
      return dead.length === 0 ? [] : connection.call('lose', dead, atMs);
    },
    appendLogs: (attemptId, records) => connection.call('appendLogs', attemptId, records),
    list: (query) => connection.call('list', query),
    get: (project, runId) => connection.call('get', project, runId),
    logs: (attemptId, after, limit) => connection.call('logs', attemptId, after, limit),
    journal: (runId) => connection.call('journal', runId),
    close: () => connection.close(),
  };
}
