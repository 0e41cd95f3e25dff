export { cellCommand, cellEnvironment, cellPaths, cellUid, channelFd } from './command.ts';
export {
  type ConformanceCheck,
  type ConformanceResult,
  conformanceChecks,
  judgeProbe,
  type Seen,
} from './conformance.ts';
export type {
  Cell,
  CellDriver,
  CellEnd,
  CellFacts,
  HostFact,
  HostReport,
  OwnerIdentity,
  SweepReport,
} from './driver.ts';
export { planBundleCell, planHash, planRunCell, planTestsCell, planTypesCell } from './plan.ts';
export { maxProbeBytes, type ProbeReport, readProbeReport } from './probe-report.ts';
export {
  allowedNames,
  cellSeccomp,
  type SeccompList,
  type SyscallArch,
  type SyscallCondition,
  seccompOf,
} from './seccomp.ts';
export { type ProbeCall, probeCalls } from './syscalls.ts';
export { assembleSysprobe, type ProbeOutcome, readSysprobe, type SysprobeReport, sysprobeArch } from './sysprobe.ts';
