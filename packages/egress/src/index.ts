export { formatAddress, parseAddress } from './address.ts';
export type * from './api.ts';
export { denialProblem } from './denial.ts';
export { onwardHeaders, returnedHeaders } from './headers.ts';
export { compilePolicy } from './policy.ts';
export { comparePolicies } from './policy-changes.ts';
export { readEgressPolicy } from './policy-read.ts';
export { createEgress } from './session.ts';
export { type ParsedTarget, parseTarget } from './target.ts';
