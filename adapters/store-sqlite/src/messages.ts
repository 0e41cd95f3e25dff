import type { ErrorData, LogRecord } from '@glovebox/contract';
import type { Attempt, AttemptEnd, JournalEntry, RunRecord, RunStore, RunSummary } from '@glovebox/engine';

export interface OpenAttempt {
  id: string;
  owner: Attempt['owner'];
}

export interface OpenOptions {
  path: string;
  /** How long one statement waits for another process before it gives up with `STORE_BUSY`. */
  busyTimeoutMs: number;
}

/**
 * What the database does, each one transaction. The port's methods, but for `markLost`: its predicate cannot cross into a
 * worker, so that the caller asks who is open, judges, and sends the ids back.
 */
export interface StoreOperations {
  create(run: RunRecord, attempt: Attempt): void;
  begin(attemptId: string, startedAtMs: number): 'begun' | 'stale';
  finish(attemptId: string, end: AttemptEnd): 'finished' | 'stale';
  openAttempts(): OpenAttempt[];
  /** @returns those of `attemptIds` that were still open, and are LOST now. */
  lose(attemptIds: string[], atMs: number): string[];
  appendLogs(attemptId: string, records: LogRecord[]): void;
  list(query: Parameters<RunStore['list']>[0]): RunSummary[];
  get(project: string, runId: string): { run: RunRecord; attempts: Attempt[] } | undefined;
  logs(attemptId: string, after?: number, limit?: number): (LogRecord & { seq: number })[];
  journal(runId: string): JournalEntry[];
}

export type OperationName = keyof StoreOperations;

export type Request =
  | { id: number; kind: 'close' }
  | { [Name in OperationName]: { id: number; kind: Name; args: Parameters<StoreOperations[Name]> } }[OperationName];

export type Answer =
  /** Sent once, unasked: the database is open, or why not. After an error the worker ends. */
  | { id: 0; ok: true; value: undefined }
  | { id: number; ok: true; value: unknown }
  | { id: number; ok: false; error: ErrorData };
