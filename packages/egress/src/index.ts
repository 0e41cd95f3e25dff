export { formatAddress, parseAddress } from './address.ts';
export type * from './api.ts';
export { denialProblem } from './denial.ts';
export { type ParsedTarget, parseTarget } from './target.ts';
