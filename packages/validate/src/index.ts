export type { OpenJudge, ValueJudge } from './judge/port.ts';
export type { LockedPackage, NodePackage, ReadResult } from './node-package.ts';
