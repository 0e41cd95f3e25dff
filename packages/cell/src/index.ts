export { cellCommand, cellEnvironment, cellPaths, cellUid, channelFd } from './command.ts';
export type { Cell, CellDriver, CellEnd, CellFacts, HostFact, HostReport, OwnerIdentity, SweepReport } from './driver.ts';
export { planBundleCell, planHash, planRunCell } from './plan.ts';
