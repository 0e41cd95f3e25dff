export { inspectJson, type JsonProblem } from './json/inspect.ts';
export { position } from './json/place.ts';
export { locateFindings } from './json/read.ts';
export { openJudge } from './judge/open.ts';
export type { OpenJudge, ValueJudge } from './judge/port.ts';
export {
  type LockedPackage,
  type NodePackage,
  type ReadOptions,
  type ReadResult,
  readNodePackage,
} from './node-package.ts';
export { packageLimits } from './package/limits.ts';
export { nearest } from './suggest.ts';
