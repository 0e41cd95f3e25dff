import type { AuditEvent, ErrorData } from '@glovebox/contract';
import type { operations } from './operations.ts';
import type { Statements } from './statements.ts';

export interface OpenOptions {
  path: string;
  /** How long one statement waits for another process before it gives up with `STORE_BUSY`. */
  busyTimeoutMs: number;
  /** The first entry of the audit chain, where the database is made now. */
  created?: AuditEvent;
}

export type OperationName = keyof typeof operations;

export type Arguments<Name extends OperationName> = (typeof operations)[Name] extends (
  sql: Statements,
  ...args: infer Args
) => unknown
  ? Args
  : never;

export type Result<Name extends OperationName> = ReturnType<(typeof operations)[Name]>;

export type Request =
  | { id: number; kind: 'close' }
  | { [Name in OperationName]: { id: number; kind: Name; args: Arguments<Name> } }[OperationName];

export type Answer =
  /** Sent once, unasked: the database is open, or why not. After an error the worker ends. */
  | { id: 0; ok: true; value: undefined }
  | { id: number; ok: true; value: unknown }
  | { id: number; ok: false; error: ErrorData };
