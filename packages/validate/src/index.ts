export { checkOf, type StaticCheck, type StaticFinding, staticChecks } from './findings.ts';
export { inspectJson, type JsonProblem } from './json/inspect.ts';
export { position } from './json/place.ts';
export { locateFindings, readJson } from './json/read.ts';
export { openJudge } from './judge/open.ts';
export type { OpenJudge, ValueJudge } from './judge/port.ts';
export { type AuditAllowances, auditLockfile } from './lockfile/audit.ts';
export {
  gatherSnapshot,
  type Identity,
  type LockedPackage,
  type NodePackage,
  type ReadOptions,
  type ReadResult,
  readNodePackage,
  readPackageFiles,
  readSnapshotDir,
  type SnapshotResult,
} from './node-package.ts';
export { packageLimits } from './package/limits.ts';
export { nearest } from './suggest.ts';
