export { readExitCode } from './cell-exit.ts';
export { checkDispatch, checkPlan, idInUse } from './check-plan.ts';
export {
  type ChannelWiring,
  cellCommand,
  cellEnvironment,
  cellPaths,
  cellUid,
  channelFd,
  stdioArgument,
  stdioChannel,
} from './command.ts';
export {
  type ConformanceCase,
  type ConformanceCheck,
  type ConformanceResult,
  conformanceChecks,
  conformanceTable,
  judgeProbe,
  type Seen,
  type WitnessedCase,
} from './conformance.ts';
export type {
  Cell,
  CellDriver,
  CellEnd,
  CellFacts,
  CellGauges,
  HostFact,
  HostReport,
  OwnerIdentity,
  SweepReport,
} from './driver.ts';
export {
  cellHostname,
  cellOomScoreAdj,
  cellRlimits,
  cpuSeconds,
  maskedProcPaths,
  readonlyDevices,
  readonlyProcPaths,
} from './hardening.ts';
export {
  caught,
  type FactOutcome,
  hostFact,
  inForce,
  isUsable,
  missing,
  probedFacts,
  unprobedFacts,
} from './host-facts.ts';
export { type HostNamespaces, type NamespaceWatch, watchHostNamespaces } from './host-namespaces.ts';
export { planBundleCell, planHash, planRunCell, planTestsCell, planTypesCell } from './plan.ts';
export { attemptNames } from './probe-attempts.ts';
export { probeCell } from './probe-cell.ts';
export { maxProbeBytes, type ProbeReport, readProbeReport } from './probe-report.ts';
export { type CellProfile, ownProfile } from './profile.ts';
export {
  allowedNames,
  cellSeccomp,
  type SeccompList,
  type SyscallArch,
  type SyscallCondition,
  seccompOf,
} from './seccomp.ts';
export { compileSeccomp, type SeccompProfile } from './seccomp-compile.ts';
export { assembleStdioShim, stdioShimArch } from './stdio-shim.ts';
export {
  type BuilderStreams,
  builderStreams,
  joinStreams,
  splitAtMarker,
} from './stdio-streams.ts';
export { type Sweeper, type SweeperOptions, startSweeper } from './sweeper.ts';
export { type ProbeCall, probeCalls } from './syscalls.ts';
export { assembleSysprobe, type ProbeOutcome, readSysprobe, type SysprobeReport, sysprobeArch } from './sysprobe.ts';
export { createTurns, type Turns } from './turns.ts';
export { type Weakening, weakenings } from './weakening.ts';
export { witnessedCases } from './witnessed-cases.ts';
