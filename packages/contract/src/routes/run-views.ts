import { z } from 'zod';
import { egressTallySchema } from '../egress.ts';
import { idPatterns } from '../ids.ts';
import { attemptStates, fileRecordSchema, logRecordSchema, peaksSchema, phasesMsSchema } from '../run.ts';
import { digest, jsonValue } from './route.ts';

const atMs = z.number().min(0);
const nodeRef = z.strictObject({ id: z.string(), version: z.string() });

export const runSummarySchema = z.strictObject({
  id: z.string().regex(idPatterns.run),
  node: nodeRef,
  state: z.enum(attemptStates),
  createdAtMs: atMs,
  /** From the start of the attempt to its end; null while it has none. */
  durationMs: z.number().nullable(),
  errorCode: z.string().nullable(),
});

/** How an attempt failed. The code is one of the catalogue where the host says so, else the author's word. */
export const attemptErrorSchema = z.strictObject({
  code: z.string(),
  message: z.string(),
  hint: z.string().exactOptional(),
  /** In files of the author. */
  stack: z.string().exactOptional(),
  place: z
    .strictObject({
      file: z.string().exactOptional(),
      path: z.string().exactOptional(),
      line: z.number().exactOptional(),
      column: z.number().exactOptional(),
    })
    .exactOptional(),
  retryable: z.boolean().exactOptional(),
  retryAfterMs: z.number().exactOptional(),
  details: jsonValue.exactOptional(),
});
export type AttemptErrorView = z.infer<typeof attemptErrorSchema>;

export const runLimitsSchema = z.strictObject({
  cpu: z.number(),
  memoryBytes: z.int(),
  pids: z.int(),
  timeoutMs: z.int(),
  outputBytes: z.int(),
  logBytes: z.int(),
  scratchBytes: z.int(),
  filesBytes: z.int(),
  filesCount: z.int(),
});

export const attemptViewSchema = z.strictObject({
  id: z.string().regex(idPatterns.attempt),
  number: z.int().min(1),
  state: z.enum(attemptStates),
  createdAtMs: atMs,
  startedAtMs: atMs.nullable(),
  end: z
    .strictObject({
      state: z.enum(attemptStates),
      endedAtMs: atMs,
      error: attemptErrorSchema.nullable(),
      /** JSON text as the node gave it. */
      outputText: z.string().nullable(),
      bundleDigest: digest.nullable(),
      imageDigest: digest.nullable(),
      phasesMs: phasesMsSchema,
      peaks: peaksSchema,
      files: z.array(fileRecordSchema),
      logBytes: z.int(),
      logTruncated: z.boolean(),
      /** Null when the attempt never had a cell; `runs.receipt` has the receipt itself. */
      receiptDigest: digest.nullable(),
    })
    .nullable(),
});
export type AttemptView = z.infer<typeof attemptViewSchema>;

/** A run with its attempts, in order. Input and config are the JSON texts that it was given, byte for byte. */
export const runViewSchema = z.strictObject({
  run: z.strictObject({
    id: z.string().regex(idPatterns.run),
    project: z.string(),
    mode: z.enum(['trial', 'release']),
    release: z.strictObject({ ref: z.string(), digest }).nullable(),
    actor: z.string(),
    node: nodeRef.extend({ revision: digest, title: z.string() }),
    createdAtMs: atMs,
    inputText: z.string(),
    configText: z.string(),
    limits: runLimitsSchema,
    /** The capabilities part of the manifest, as declared. */
    capabilities: jsonValue,
  }),
  attempts: z.array(attemptViewSchema).min(1),
});
export type RunView = z.infer<typeof runViewSchema>;

export const apiLogRecordSchema = logRecordSchema.extend({ fields: jsonValue.exactOptional() });
/** `seq` counts up within an attempt, with gaps. */
export const numberedLogSchema = apiLogRecordSchema.extend({ seq: z.int().min(0) });

export const journalEntrySchema = z.strictObject({
  seq: z.int(),
  atMs,
  run: z.string(),
  attempt: z.string().nullable(),
  from: z.enum(attemptStates).nullable(),
  to: z.enum(attemptStates),
});

/** What a run came to. `output` is there only when it succeeded. */
export const runResultSchema = z.strictObject({
  run: z.string().regex(idPatterns.run),
  attempt: z.string().regex(idPatterns.attempt),
  state: z.enum(attemptStates),
  output: jsonValue.nullable(),
  error: attemptErrorSchema.nullable(),
  /** Digest of the bundle that ran. */
  digest,
  receiptDigest: digest,
  phasesMs: phasesMsSchema,
  peaks: peaksSchema,
  node: nodeRef.extend({ revision: digest }),
  files: z.array(fileRecordSchema),
  limits: runLimitsSchema,
  egressRequests: z.int().min(0),
  /** What came of them: the same of the same kind of request counted, the commonest first, at most 200. */
  egressDecisions: z.array(egressTallySchema),
});
export type RunOutcome = z.infer<typeof runResultSchema>;
