import { randomBytes } from 'node:crypto';
import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import {
  type Cell,
  type CellFacts,
  type ChannelWiring,
  cellOomScoreAdj,
  cellPaths,
  cpuSeconds,
  planHash,
} from '@glovebox/cell';
import type { UidClaims } from '@glovebox/cell/host';
import { formatOwnedName, hostError, type OwnerMark } from '@glovebox/cell/host';
import { type CellId, type CellPlan, GloveboxError } from '@glovebox/contract';
import { type CellCgroup, cellControllers, createCellCgroup, joinFiles, runtimeCgroupPath } from './cell-cgroup.ts';
import { cellFolder, giveBundle, makeCellFolder, makeStage, runtimeCall, writeCellFolder } from './cell-folder.ts';
import { type CgroupHierarchies, restrictTo } from './cgroup-hierarchies.ts';
import { awaitEmpty, dismantle, type Traces } from './dismantle.ts';
import { gvisorProfile } from './gvisor-profile.ts';
import { type Host, risksTaken } from './host.ts';
import { type Launched, launch, release, type UserNamespace } from './launch.ts';
import { bindsOf, chooseMountPoint, mountTable, namespacedBindsOf, reachable } from './launch-mounts.ts';
import { makeSpec, type OciSpec } from './oci-spec.ts';
import { driverName, isWeakened, type ResolvedOptions } from './options.ts';
import { propertiesOf, weakenedProperty } from './properties.ts';
import { superviseCell } from './running-cell.ts';
import { toRunscSpec } from './runsc-spec.ts';
import { cgroupShape, type Runtime, runtimeCommand } from './runtime.ts';
import { overStdio } from './stdio-wiring.ts';

/** runsc runs as a user of its own, who must be able to reach what he works on. */
export const bundleOwner = ({ kind }: Runtime): 'us' | 'runtime' => (kind === 'runsc' ? 'runtime' : 'us');

/** Where a cell that was just booted is to be found on the host. */
export interface BootedCell {
  hierarchies: CgroupHierarchies;
  name: string;
  cellId: number;
}

export interface BootContext {
  options: ResolvedOptions;
  host: Host;
  mark: OwnerMark;
  claims: UidClaims;
  /** Called when a cell is dead, or its boot failed, and something of it could not be removed. */
  onLost(id: CellId): void;
}

/**
 * Boot one cell: claim a uid, write the bundle, start the launch chain, make the cgroups while that comes up; then let it
 * go. Whatever fails, nothing is left.
 */
export async function bootCell(
  context: BootContext,
  plan: CellPlan,
  id: CellId,
  onBooted?: (cell: BootedCell) => void,
): Promise<Cell> {
  const { options, host, mark, claims } = context;
  const shape = cgroupShape(host.runtime);
  const rootfs = findRootfs(options, plan.image);
  const sandboxed = host.runtime.kind === 'runsc';
  const mountPoint = chooseMountPoint(host.hybridMountPoint, [rootfs, options.runDirectory, host.runtime.path]);
  const name = formatOwnedName(id, mark);
  const folder = cellFolder(options.runDirectory, name, bundleOwner(host.runtime));
  // A runtime that makes its own cgroups makes them in every hierarchy.
  const hierarchies = shape !== 'nested' ? restrictTo(host.hierarchies, cellControllers) : host.hierarchies;
  const traces: Traces = { hierarchies, name, folder, claims, claim: claims.claim(id, mark) };
  try {
    makeCellFolder(options.runDirectory, folder);
  } catch (thrown) {
    // Nothing but the claim is ours: what else has the name is another cell's, which must not be dismantled.
    claims.release(traces.claim);
    throw thrown;
  }

  let launched: Launched | undefined;
  try {
    const marker = randomBytes(16).toString('hex');
    const wiring: ChannelWiring = sandboxed ? { kind: 'stdio', marker } : { kind: 'socket' };
    const at = sandboxed ? reachable(mountPoint) : { rootfs: mountPoint, bundle: folder.bundle };
    const spec = specFor(context, plan, at.rootfs, traces, wiring);
    const binds = sandboxed
      ? namespacedBindsOf(rootfs, folder.bundle, folder.stage, mountPoint)
      : bindsOf(rootfs, mountPoint, host.runtime.path);
    writeCellFolder(folder, { config: JSON.stringify(spec), mountTable: mountTable(binds) });
    if (sandboxed) {
      makeStage(folder);
      giveBundle(folder, traces.claim.rootId);
    }
    launched = launch({
      tools: host.tools,
      mountTable: folder.mountTable,
      binds,
      joinFiles: joinFiles(hierarchies, name, shape),
      runtimeArgv: runtimeCommand(host.runtime, runtimeCall(at.bundle, id)),
      stdin: plan.role === 'bundle' || (sandboxed && plan.role !== 'probe') ? 'pipe' : 'null',
      ...(sandboxed ? { userNamespace: sandboxUsers(traces, plan) } : {}),
    });
    const cgroup = createCellCgroup(hierarchies, name, shape, plan.limits);
    await release(launched, options.bootDeadlineMs);
    onBooted?.({ hierarchies, name, cellId: traces.claim.cellId });
    return superviseCell({
      id,
      plan,
      facts: factsOf(context, plan, spec, cgroup),
      launched: sandboxed ? overStdio(launched, plan.role, marker) : launched,
      cgroup,
      folder,
      bootDeadlineMs: options.bootDeadlineMs,
      awaitEmpty: () => awaitEmpty(traces),
      dismantle: () => dismantleOrTell(context, id, traces),
      ignoreDeadline: options.ignoreDeadlineForTest === true,
    });
  } catch (thrown) {
    const left = await undo(context, id, traces, launched);
    // Why it did not come up counts for less than that something of it may be there.
    throw left ?? hostError(thrown, 'DATA_DIR_UNUSABLE', 'Cannot write the bundle of a cell');
  }
}

function findRootfs(options: ResolvedOptions, digest: string): string {
  const path = options.rootfsOf(digest);
  try {
    if (statSync(join(path, cellPaths.node)).isFile()) return realpathSync(path);
  } catch (thrown) {
    throw new GloveboxError('IMAGE_MISSING', { message: `The image ${digest} is not at ${path}.`, cause: thrown });
  }
  throw new GloveboxError('IMAGE_CORRUPTED', { message: `The image ${digest} has no ${cellPaths.node}.` });
}

function specFor(
  context: BootContext,
  plan: CellPlan,
  rootPath: string,
  traces: Traces,
  wiring: ChannelWiring,
): OciSpec {
  const { host, options } = context;
  const cgroupsPath = runtimeCgroupPath(traces.name, cgroupShape(host.runtime));
  const spec = makeSpec({
    plan,
    rootPath,
    ids: traces.claim,
    arch: host.arch,
    procSubset: host.procSubset,
    wiring,
    ...(cgroupsPath === undefined ? {} : { cgroupsPath }),
    ...(host.apparmorProfile === undefined ? {} : { apparmorProfile: host.apparmorProfile }),
  });
  const own = host.runtime.kind === 'runsc' ? toRunscSpec(spec) : spec;
  return options.weakenForTest === undefined ? own : options.weakenForTest(own);
}

/** The user that runsc gives to a sandbox is the host's `nobody` in number alone: it is the cell's own id. */
const runscNobody = 65_534;

const sandboxUsers = ({ claim }: Traces, { limits }: CellPlan): UserNamespace => ({
  rootId: claim.rootId,
  userId: claim.cellId,
  innerId: runscNobody,
  oomScoreAdj: cellOomScoreAdj,
  cpuSeconds: cpuSeconds(limits),
});

function factsOf(context: BootContext, plan: CellPlan, spec: OciSpec, cgroup: CellCgroup): CellFacts {
  const { options, host } = context;
  const properties = [
    ...(host.runtime.kind === 'runsc' ? sandboxProperties(spec) : propertiesOf(spec)),
    ...cgroup.properties,
    'death-with-owner',
    'descriptors-fixed',
    ...(options.ignoreDeadlineForTest === true ? [] : ['deadline']),
    ...(isWeakened(options) ? [weakenedProperty] : []),
  ];
  return {
    driver: driverName,
    runtime: host.runtime.kind,
    runtimeVersion: host.runtime.packageVersion ?? host.runtime.version,
    planHash: planHash(plan),
    properties: properties.sort(),
    acceptedRisks: risksTaken(host.runtime).sort(),
  };
}

/** The launcher makes the user namespace and gives the ids; what runsc keeps to itself or does not do is not claimed. */
const sandboxProperties = (spec: OciSpec): string[] => [
  ...propertiesOf(spec).filter((name) => !gvisorProfile.lacks.includes(name)),
  'kernel-user-space',
  'namespace-user',
  'uid-own',
];

/** A failed boot leaves what a dead cell leaves, in parts. */
async function undo(
  context: BootContext,
  id: CellId,
  traces: Traces,
  launched: Launched | undefined,
): Promise<GloveboxError | undefined> {
  const child = launched?.child;
  if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
  }
  for (const stream of child?.stdio ?? []) stream?.destroy();
  await awaitEmpty(traces);
  return dismantleOrTell(context, id, traces);
}

async function dismantleOrTell(context: BootContext, id: CellId, traces: Traces): Promise<GloveboxError | undefined> {
  const left = await dismantle(traces);
  if (left !== undefined) context.onLost(id);
  return left;
}
