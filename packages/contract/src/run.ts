import { z } from 'zod';
import { idPatterns } from './ids.ts';

/**
 * How an attempt can stand. Upper case, as they are spelled everywhere; those that end by a limit have the name of the
 * error code.
 */
export const attemptStates = [
  'QUEUED',
  'RUNNING',
  'SUCCEEDED',
  /** The node threw, or gave what its own schema refuses: see the error. */
  'FAILED',
  'TIMED_OUT',
  'OUT_OF_MEMORY',
  'PIDS_EXCEEDED',
  'OUTPUT_TOO_LARGE',
  'SCRATCH_FULL',
  'LOG_FLOOD',
  'CANCELLED',
  'CHANNEL_ABUSE',
  'CHANNEL_CORRUPTED',
  /** The process ended by itself, by a signal or exit, before a result. */
  'CRASHED',
  /** The host died or lost the cell; what the node did by then is unknown. */
  'LOST',
] as const;

export type AttemptState = (typeof attemptStates)[number];
export type EndState = Exclude<AttemptState, 'QUEUED' | 'RUNNING'>;

export const phasesMsSchema = z.strictObject({
  /** From acceptance to the start of the boot: build, checks, waiting. */
  queue: z.number().min(0),
  /** From the start of the boot to the harness asking for its job. */
  boot: z.number().min(0),
  /** From dispatch to the bundle being loaded. */
  load: z.number().min(0),
  /** From the handler's call to its result. */
  run: z.number().min(0),
  /** From result or kill to the cell being confirmed dead and its traces removed. */
  teardown: z.number().min(0),
});
export type PhasesMs = z.infer<typeof phasesMsSchema>;

export const peaksSchema = z.strictObject({
  /** Highest charge of the cell's memory cgroup: process, tmpfs, kernel memory. Null where the kernel does not tell. */
  memoryBytes: z.number().nullable(),
  /** Most processes and threads at once. Null where the kernel does not tell. */
  pids: z.number().nullable(),
  outputBytes: z.number(),
});
export type Peaks = z.infer<typeof peaksSchema>;

export const fileRecordSchema = z.strictObject({
  name: z.string(),
  mediaType: z.string(),
  digest: z.string().regex(idPatterns.digest),
  sizeBytes: z.int().min(0),
});
export type FileRecord = z.infer<typeof fileRecordSchema>;

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export const logRecordSchema = z.strictObject({
  /** Milliseconds since the epoch at which the host received it. */
  atMs: z.number(),
  /** `node`: by ctx.log. `console`, `stdout`, `stderr`: captured. `host`: a remark of the host, such as a truncation. */
  source: z.enum(['node', 'console', 'stdout', 'stderr', 'host']),
  level: z.enum(logLevels),
  message: z.string(),
  fields: z.json().optional(),
});
export type LogRecord = z.infer<typeof logRecordSchema>;
