import { randomBytes } from 'node:crypto';

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

export type RunId = Branded<'RunId'>;
export type AttemptId = Branded<'AttemptId'>;
export type CellId = Branded<'CellId'>;
export type InstanceId = Branded<'InstanceId'>;
export type ValidationId = Branded<'ValidationId'>;
export type ProjectId = Branded<'ProjectId'>;
export type NodeId = Branded<'NodeId'>;
/** `sha256:` and 64 lower-case hex digits. */
export type Digest = Branded<'Digest'>;

const prefixes = { run: 'run', attempt: 'att', cell: 'cell', instance: 'ins', validation: 'val' } as const;

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';

/**
 * A new id: prefix, 10 characters of milliseconds since the epoch, 12 of randomness, in Crockford's base 32. Ids of one
 * process sort by time, to the millisecond.
 */
function newId(prefix: string, nowMs: number): string {
  let time = '';
  for (let i = 0, rest = nowMs; i < 10; i++, rest = Math.floor(rest / 32)) time = alphabet[rest % 32] + time;
  let random = '';
  for (const byte of randomBytes(12)) random += alphabet[byte & 31];
  return `${prefix}_${time}${random}`;
}

export const newRunId = (nowMs: number = Date.now()): RunId => newId(prefixes.run, nowMs) as RunId;
export const newAttemptId = (nowMs: number = Date.now()): AttemptId => newId(prefixes.attempt, nowMs) as AttemptId;
export const newCellId = (nowMs: number = Date.now()): CellId => newId(prefixes.cell, nowMs) as CellId;
export const newInstanceId = (nowMs: number = Date.now()): InstanceId => newId(prefixes.instance, nowMs) as InstanceId;

export const newValidationId = (nowMs: number = Date.now()): ValidationId =>
  newId(prefixes.validation, nowMs) as ValidationId;

const idPattern = (prefix: string): RegExp => new RegExp(`^${prefix}_[0-9a-hjkmnp-tv-z]{22}$`);

export const idPatterns = {
  run: idPattern(prefixes.run),
  attempt: idPattern(prefixes.attempt),
  cell: idPattern(prefixes.cell),
  instance: idPattern(prefixes.instance),
  validation: idPattern(prefixes.validation),
  digest: /^sha256:[0-9a-f]{64}$/,
  project: /^[a-z][a-z0-9-]{1,62}[a-z0-9]$/,
  node: /^[a-z][a-z0-9-]{1,62}[a-z0-9]$/,
} as const;

export const defaultProject = 'default' as ProjectId;
