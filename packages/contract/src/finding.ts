import type { ErrorCode } from './error-catalogue.ts';
import type { Place } from './errors.ts';
import type { Edit } from './report.ts';

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
