export { locateFindings } from './json/read.ts';
export type { OpenJudge, ValueJudge } from './judge/port.ts';
export type { LockedPackage, NodePackage, ReadResult } from './node-package.ts';
export { packageLimits } from './package/limits.ts';
export { type ReadOptions, readNodePackage } from './package/read.ts';
