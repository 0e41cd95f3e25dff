import { z } from 'zod';
import { idPatterns } from './ids.ts';

/** The checks of a validation, in the order in which they are shown. */
export const checkIds = ['package', 'manifest', 'lockfile', 'types', 'build', 'tests', 'fixtures'] as const;
export type CheckId = (typeof checkIds)[number];

/**
 * `skipped`: a check that it builds on failed. `unavailable`: this host or the registry could not do it, which is never a
 * pass. `cancelled`: stopped by whoever asked.
 */
export const checkStates = ['passed', 'failed', 'skipped', 'unavailable', 'cancelled'] as const;
export type CheckState = (typeof checkStates)[number];

/** A replacement of text in one file. Lines and columns count from 1, columns in UTF-16 code units; `end` is exclusive. */
export const editSchema = z.strictObject({
  file: z.string(),
  start: z.strictObject({ line: z.int().min(1), column: z.int().min(1) }),
  end: z.strictObject({ line: z.int().min(1), column: z.int().min(1) }),
  text: z.string(),
});
export type Edit = z.infer<typeof editSchema>;

/** A finding as it stands in a report: flat, so that it is one line of a table. Absent places are null. */
export const reportFindingSchema = z.strictObject({
  /** An error code of the catalogue; `glovebox explain` tells more. */
  rule: z.string(),
  severity: z.enum(['error', 'warning', 'notice']),
  check: z.enum(checkIds),
  file: z.string().nullable(),
  /** JSON Pointer in the file, where there is one. */
  path: z.string().nullable(),
  line: z.int().nullable(),
  column: z.int().nullable(),
  message: z.string(),
  hint: z.string(),
  /** There when the remedy is mechanical. */
  fix: z.strictObject({ title: z.string(), edits: z.array(editSchema) }).optional(),
});
export type ReportFinding = z.infer<typeof reportFindingSchema>;

export const checkResultSchema = z.strictObject({
  id: z.enum(checkIds),
  state: z.enum(checkStates),
  durationMs: z.number().min(0),
  /** Whether the verdict was taken from an earlier run over the very same bytes. */
  cached: z.boolean(),
  /** How many findings it has. */
  findings: z.int().min(0),
  /** What it did, such as `{ tests: 12 }`. What author code said of itself is under `selfReported`. */
  facts: z.record(z.string(), z.json()),
});
export type CheckResult = z.infer<typeof checkResultSchema>;

/** All findings of all checks for one revision. */
export const reportSchema = z.strictObject({
  schema: z.literal('glovebox.report/1'),
  project: z.string(),
  id: z.string(),
  version: z.string(),
  revision: z.string().regex(idPatterns.digest),
  valid: z.boolean(),
  checks: z.array(checkResultSchema),
  findings: z.array(reportFindingSchema),
  /** Tools that decided, as text, sorted, such as `node@26.12.1`. */
  toolchain: z.array(z.string()),
});
export type Report = z.infer<typeof reportSchema>;
