import { z } from 'zod';
import { idPatterns } from './ids.ts';
import type { Json } from './json.ts';

/**
 * The control plane of a cell: the requests to `control.invalid` that the harness makes over the channel. docs/channel.md
 * has the frames below them. Whatever comes from a cell is checked here before the host believes a byte of it.
 */
export const controlAuthority = 'control.invalid';

export const controlPaths = {
  /** GET, held until dispatch; the answer is a Job. */
  job: '/job',
  /** GET; the bundle's bytes. */
  bundle: '/bundle',
  /** POST, once; empty body: the bundle is loaded and the handler is about to be called. */
  loaded: '/loaded',
  /** POST, open for the life of the cell; the body is lines of JSON, each a GuestLog. */
  log: '/log',
  /** POST; the body is a Progress. */
  progress: '/progress',
  /** PUT `/files/{name}` with a `content-type`; the answer is a StoredFile. */
  files: '/files/',
  /** POST, exactly one; header `glovebox-result: output | error`; the body is the output's JSON text or a GuestError. */
  result: '/result',
  /** GET, held; answered with a CancelNotice when the attempt is cancelled. */
  cancel: '/cancel',
} as const;

export const jobSchema = z.strictObject({
  ids: z.strictObject({
    project: z.string(),
    run: z.string().regex(idPatterns.run),
    attempt: z.string().regex(idPatterns.attempt),
    node: z.string(),
    correlation: z.string(),
  }),
  /** By the host's clock, ms since the epoch, at dispatch. */
  nowMs: z.number(),
  /** What is left of the attempt's time at dispatch. */
  timeoutMs: z.int(),
  bundle: z.strictObject({ digest: z.string().regex(idPatterns.digest), sizeBytes: z.int() }),
  limits: z.strictObject({
    outputBytes: z.int(),
    logBytes: z.int(),
    filesBytes: z.int(),
    filesCount: z.int(),
    scratchBytes: z.int(),
  }),
  /** Whether the manifest declares http: a cell whose node may not ask for anything loads nothing to ask with. */
  http: z.boolean(),
  idempotencyKey: z.string(),
  input: z.json(),
  config: z.json(),
});
export type Job = z.infer<typeof jobSchema>;

/**
 * What came out of JSON.parse is JSON. To walk it once more would let a cell stall the host for seconds with a list of a
 * few hundred thousand numbers, and zod's own walk drops a member named `__proto__`.
 */
const parsedJson = z.custom<Json>((value) => value !== undefined);

/** What a log record counts for at least: the host keeps an empty one at the same cost as any other. */
export const logRecordBytes = 16;

export const guestLogSchema = z.strictObject({
  source: z.enum(['node', 'console', 'stdout', 'stderr']),
  level: z.enum(['debug', 'info', 'warn', 'error']),
  message: z.string().max(64 * 1024),
  fields: parsedJson.optional(),
});
export type GuestLog = z.infer<typeof guestLogSchema>;

export const progressSchema = z.strictObject({
  fraction: z.number().min(0).max(1).optional(),
  message: z.string().max(500).optional(),
});
export type Progress = z.infer<typeof progressSchema>;

/** An error as the guest claims it. `code` is the author's own word unless it is one of ours. */
export const guestErrorSchema = z.strictObject({
  code: z.string().min(1).max(100),
  message: z.string().max(16 * 1024),
  stack: z
    .string()
    .max(32 * 1024)
    .optional(),
  place: z.string().max(1024).optional(),
  retryable: z.boolean().optional(),
  retryAfterMs: z.number().min(0).max(86_400_000).optional(),
  details: parsedJson.optional(),
});
export type GuestError = z.infer<typeof guestErrorSchema>;

export const cancelNoticeSchema = z.strictObject({ reason: z.string().max(500), graceMs: z.int() });
export type CancelNotice = z.infer<typeof cancelNoticeSchema>;

export const storedFileSchema = z.strictObject({ digest: z.string().regex(idPatterns.digest), sizeBytes: z.int() });
export type StoredFile = z.infer<typeof storedFileSchema>;

export const fileNamePattern = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/;
export const mediaTypePattern =
  /^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}(; ?[a-z0-9-]{1,32}=[A-Za-z0-9._-]{1,64}){0,4}$/;

/** How long after `cancel` the kill comes. */
export const cancelGraceMs = 2000;
