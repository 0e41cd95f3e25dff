export { logDigest } from './attempt/log-intake.ts';
export {
  type AttemptEvents,
  type AttemptPorts,
  type AttemptReport,
  type AttemptRequest,
  runAttempt,
} from './attempt/run-attempt.ts';
export { checkpointAudit } from './audit/checkpoint-audit.ts';
export { exportAudit } from './audit/export-audit.ts';
export { listAudit, maxAuditEntries } from './audit/list-audit.ts';
export { type AuditVerdict, verifyAuditChain } from './audit/verify-audit-chain.ts';
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
export { checkEgress, type EgressQuestion } from './egress/check-egress.ts';
export { listEgress } from './egress/list-egress.ts';
export { type ChangedEgressPolicy, setEgressPolicy } from './egress/set-egress-policy.ts';
export { type ShownEgressPolicy, showEgressPolicy } from './egress/show-egress-policy.ts';
export { type Engine, type OpenParts, openEngine } from './engine.ts';
export { isDead, ownIdentity } from './host.ts';
export { withImages } from './images.ts';
export type { RunEvents, RunResult } from './perform-run.ts';
export type * from './ports.ts';
export type * from './records.ts';
export {
  type ChangedRelease,
  deprecateRelease,
  maxReasonLength,
  type ReleaseChange,
  type ReleaseRecords,
  revokeRelease,
  undeprecateRelease,
} from './releases/change-release.ts';
export { listNodes, maxNodes, type NodeSummary } from './releases/list-nodes.ts';
export { listReleases, maxReleases } from './releases/list-releases.ts';
export { permissionWords } from './releases/permission-words.ts';
export {
  type Published,
  type PublishRequest,
  publishRelease,
  type ReleasePublishing,
} from './releases/publish-release.ts';
export { resolveRelease } from './releases/resolve-release.ts';
export { type RevalidationEvents, revalidateRelease } from './releases/revalidate-release.ts';
export { type ReleaseContent, type ReleaseDetails, showRelease } from './releases/show-release.ts';
export {
  type ReleaseRunEvents,
  type ReleaseRunRequest,
  type ReleaseRunResult,
  runRelease,
} from './run-release.ts';
export { runTrial, type TrialEvents, type TrialRequest, type TrialResult, type TrialSource } from './run-trial.ts';
export { type RunValues, valueLimits } from './run-values.ts';
export type { TrialCassette, TrialHttp } from './trial-http.ts';
export { createCheckCache } from './validate/check-cache.ts';
export { checkTests } from './validate/check-tests.ts';
export { checkTypes } from './validate/check-types.ts';
export type { CheckEvent } from './validate/checklist.ts';
export { type Fixture, type FixtureVerdict, judgeFixture, readFixture } from './validate/fixture.ts';
export type { CheckOutcome } from './validate/outcome.ts';
export { type PutDraft, type PutDraftRequest, putDraft } from './validate/put-draft.ts';
export { reportToSarif } from './validate/sarif.ts';
export { createTurns, type Turns } from './validate/turns.ts';
export {
  type Validated,
  type ValidateRequest,
  type ValidationEvents,
  validateDraft,
} from './validate/validate-draft.ts';
export { verifyRun } from './verify-run.ts';
