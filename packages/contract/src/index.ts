export * from './artifact.ts';
export * from './attestation.ts';
export * from './audit.ts';
export * from './build-control.ts';
export * from './build-limits.ts';
export * from './cassette.ts';
export * from './control.ts';
export * from './draft.ts';
export * from './egress.ts';
export { type ErrorCode, type ErrorEntry, errorCatalogue, errorCodes } from './error-catalogue.ts';
export { exitMeanings, kindMeanings } from './error-meanings.ts';
export { type ErrorData, GloveboxError, type GloveboxErrorOptions, type Place, toErrorData } from './errors.ts';
export { type Finding, fromFindings, toReportFinding } from './finding.ts';
export { GatheredBytes, gatherBody } from './gathered-bytes.ts';
export * from './ids.ts';
export { type Json, type JsonLimits, type JsonTextFault, jsonTextDepth, jsonTextFault, parseJson } from './json.ts';
export * from './key-list.ts';
export {
  defaultScratchBytes,
  type HttpRule,
  httpRuleSchema,
  type Manifest,
  manifestJsonSchema,
  manifestLimits,
  manifestSchema,
  type RunLimits,
  runLimits,
} from './manifest.ts';
export {
  type AcceptableRisk,
  acceptableRisks,
  type CellClass,
  type CellPlan,
  type CellRole,
  cellClasses,
  cellPlanSchema,
  isAsStrong,
  minimumClassSchema,
  planCeilings,
} from './plan.ts';
export { type ProbeDocument, probeDocumentSchema } from './probe.ts';
export * from './receipt.ts';
export * from './reference.ts';
export * from './release.ts';
export * from './report.ts';
export { packageRevision, sortedByBytes } from './revision.ts';
export * from './run.ts';
export * from './test-control.ts';
export { formatDuration, formatSize, parseDuration, parseSize } from './units.ts';
