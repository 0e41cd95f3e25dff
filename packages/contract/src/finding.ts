import type { ErrorCode } from './error-catalogue.ts';
import type { Place } from './errors.ts';
import type { Json } from './json.ts';
import type { CheckId, Edit, ReportFinding } from './report.ts';

/** One thing that a check found. `rule` is an error code of the catalogue. */
export interface Finding {
  rule: ErrorCode;
  severity: 'error' | 'warning' | 'notice';
  message: string;
  hint: string;
  place: Place;
  /** There when the remedy is mechanical. */
  fix?: { title: string; edits: Edit[] };
}

/** Options of an error that stands for findings: all of them as details, and the first error for those who read one line. */
export function fromFindings(findings: readonly Finding[]): {
  message?: string;
  place?: Place;
  hint?: string;
  details: Json;
} {
  const first = findings.find(({ severity }) => severity === 'error') ?? findings[0];
  return {
    ...(first ? { message: first.message, place: first.place, hint: first.hint } : {}),
    details: { findings: findings as unknown as Json },
  };
}

/** A finding as it stands in a report. */
export function toReportFinding(check: CheckId, { rule, severity, message, hint, place, fix }: Finding): ReportFinding {
  const { file = null, path = null, line = null, column = null } = place;
  return { rule, severity, check, file, path, line, column, message, hint, ...(fix === undefined ? {} : { fix }) };
}
