export { logDigest } from './attempt/log-intake.ts';
export {
  type AttemptEvents,
  type AttemptPorts,
  type AttemptReport,
  type AttemptRequest,
  runAttempt,
} from './attempt/run-attempt.ts';
export { type BuiltNode, buildNode } from './build-node.ts';
export { createBundleCache } from './bundle/bundle-cache.ts';
export {
  type Bundle,
  type BundleOptions,
  type BundleRequest,
  type BundleResult,
  bundleNode,
} from './bundle/bundle-node.ts';
export { restoreDependencies } from './bundle/restore-dependencies.ts';
export type { Engine } from './engine.ts';
export { isDead, ownIdentity } from './host.ts';
export type * from './ports.ts';
export type * from './records.ts';
export { runTrial, type TrialEvents, type TrialRequest, type TrialResult, valueLimits } from './run-trial.ts';
export { verifyRun } from './verify-run.ts';
