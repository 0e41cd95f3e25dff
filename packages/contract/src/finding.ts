import type { ErrorCode } from './error-catalogue.ts';
import type { Place } from './errors.ts';

/** One thing that a check found. `rule` is an error code of the catalogue. */
export interface Finding {
  rule: ErrorCode;
  severity: 'error' | 'warning';
  message: string;
  hint: string;
  place: Place;
}
