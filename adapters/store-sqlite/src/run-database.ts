import { storeError } from './failures.ts';
import type { OpenOptions, StoreOperations } from './messages.ts';
import { openDatabase } from './open-database.ts';
import { getRun, listRuns, readJournal, readLogs } from './queries.ts';
import { Statements } from './statements.ts';
import { appendLogRecords, beginAttempt, createRun, finishAttempt, loseAttempts, openAttempts } from './transitions.ts';

export interface RunDatabase {
  operations: StoreOperations;
  close(): void;
}

/** The database, in the thread that calls. Every method blocks it; what they throw is a GloveboxError. */
export function openRunDatabase(options: OpenOptions): RunDatabase {
  const sql = new Statements(openDatabase(options));
  const typed =
    <Args extends unknown[], Result>(action: (...args: Args) => Result) =>
    (...args: Args): Result => {
      try {
        return action(...args);
      } catch (error) {
        throw storeError(error, options.path);
      }
    };
  return {
    operations: {
      create: typed((run, attempt) => createRun(sql, run, attempt)),
      begin: typed((attemptId, startedAtMs) => beginAttempt(sql, attemptId, startedAtMs)),
      finish: typed((attemptId, end) => finishAttempt(sql, attemptId, end)),
      openAttempts: typed(() => openAttempts(sql)),
      lose: typed((attemptIds, atMs) => loseAttempts(sql, attemptIds, atMs)),
      appendLogs: typed((attemptId, records) => appendLogRecords(sql, attemptId, records)),
      list: typed((query) => listRuns(sql, query)),
      get: typed((project, runId) => getRun(sql, project, runId)),
      logs: typed((attemptId, after, limit) => readLogs(sql, attemptId, after, limit)),
      journal: typed((runId) => readJournal(sql, runId)),
    },
    close: typed(() => sql.close()),
  };
}
