/**
 * All but what connects: to import it loads neither TLS nor an HTTP client. For whoever decides on requests, and for hosts of
 * attempts that may never send one.
 */
export { formatAddress, parseAddress } from './address.ts';
export type * from './api.ts';
export { bootClockMs } from './boot-clock.ts';
export { denialProblem } from './denial.ts';
export { openFenceClock } from './fence-clock.ts';
export { lateDialer } from './late-dialer.ts';
export { compilePolicy } from './policy.ts';
export { comparePolicies } from './policy-changes.ts';
export { readEgressPolicy } from './policy-read.ts';
export { createEgress } from './session.ts';
export { parseTarget } from './target.ts';
