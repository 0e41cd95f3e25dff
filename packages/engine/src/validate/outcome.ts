import type { Finding, Json } from '@glovebox/contract';

/**
 * What one check found. `unavailable`: this host or the registry could not do it; its findings say why, and it is never
 * a pass. A check that failed has at least one finding of severity `error`; one that passed has none.
 */
export interface CheckOutcome {
  state: 'passed' | 'failed' | 'unavailable';
  findings: Finding[];
  /** What it did, small, for the report. */
  facts: Record<string, Json>;
}

/** Passed or failed, by whether any of the findings is an error. */
export function judged(findings: Finding[], facts: CheckOutcome['facts'] = {}): CheckOutcome {
  const failed = findings.some(({ severity }) => severity === 'error');
  return { state: failed ? 'failed' : 'passed', findings, facts };
}
