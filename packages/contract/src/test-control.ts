import { z } from 'zod';
import { testLimits } from './build-limits.ts';

const count = z.int().min(0);
const place = z.strictObject({ file: z.string().max(4096), line: count, column: count });

/** What the host tells a tests cell to run. */
export const testJobSchema = z.strictObject({
  /** Comes back with the result. It grants nothing: it tells the runner's word from what a test writes to the channel. */
  nonce: z.string().regex(/^[0-9a-f]{32}$/),
  /** Of `Math.random`. */
  seed: z.int().min(0).max(0xffff_ffff),
  /** What the clock shows when the tests begin, in ms since the epoch. */
  startMs: z.int(),
  /** Paths in the package, in the order in which they are to be loaded and run. */
  files: z.array(z.string()),
});
export type TestJob = z.infer<typeof testJobSchema>;

export const testRecordSchema = z.strictObject({
  /** Its own name after those of what it is in, with ` > ` between. Empty: the file itself could not be loaded. */
  name: z.string().max(testLimits.nameLength),
  verdict: z.enum(['passed', 'failed', 'skipped', 'todo']),
  /** Where it is defined; the file is relative to the package, or absolute where it lies elsewhere. */
  place: place.optional(),
  /** Why it failed. Absent where it failed only because a test in it did. */
  message: z.string().max(testLimits.messageLength).optional(),
});
export type TestRecord = z.infer<typeof testRecordSchema>;

/**
 * What a tests cell says of its tests. Author code has run in the very process that says it: it is a claim, and reported
 * as one.
 */
export const testResultSchema = z.strictObject({
  nonce: z.string().max(64),
  /** Whether the runner counts the run as a success: an error after the end of its test is no test's failure. */
  success: z.boolean(),
  tests: z.array(testRecordSchema).max(testLimits.tests),
  /** Tests beyond the limit, of which nothing is said. */
  moreTests: count,
  /** Errors that belong to no test. */
  diagnostics: z.array(z.string().max(testLimits.messageLength)).max(testLimits.diagnostics),
  /** What the package's directory holds after the tests; `null`: no file any more, or none that can be read. */
  files: z
    .array(z.strictObject({ path: z.string().max(4096), sha256: z.string().max(64).nullable() }))
    .max(testLimits.files),
});
export type TestResult = z.infer<typeof testResultSchema>;
