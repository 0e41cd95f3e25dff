import { realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Cell, type CellFacts, cellPaths, planHash } from '@glovebox/cell';
import type { UidClaims } from '@glovebox/cell/host';
import { formatOwnedName, hostError, type OwnerMark } from '@glovebox/cell/host';
import { type CellId, type CellPlan, GloveboxError } from '@glovebox/contract';
import { type CellCgroup, cellControllers, createCellCgroup, joinFiles, runtimeCgroupPath } from './cell-cgroup.ts';
import { cellFolder, makeCellFolder, runtimeCall, writeCellFolder } from './cell-folder.ts';
import { restrictTo } from './cgroup-hierarchies.ts';
import { awaitEmpty, dismantle, type Traces } from './dismantle.ts';
import type { Host } from './host.ts';
import { chooseMountPoint, type Launched, launch, mountTable, release } from './launch.ts';
import { makeSpec, type OciSpec } from './oci-spec.ts';
import { driverName, isWeakened, type ResolvedOptions } from './options.ts';
import { propertiesOf, weakenedProperty } from './properties.ts';
import { superviseCell } from './running-cell.ts';
import { cgroupShape, runtimeCommand } from './runtime.ts';

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
export async function bootCell(context: BootContext, plan: CellPlan, id: CellId): Promise<Cell> {
  const { options, host, mark, claims } = context;
  const shape = cgroupShape(host.runtime);
  const rootfs = findRootfs(options, plan.image);
  const mountPoint = chooseMountPoint(host.hybridMountPoint, [rootfs, options.runDirectory]);
  const name = formatOwnedName(id, mark);
  const folder = cellFolder(options.runDirectory, name);
  // A runtime that makes its own cgroups makes them in every hierarchy.
  const hierarchies = shape === 'direct' ? restrictTo(host.hierarchies, cellControllers) : host.hierarchies;
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
    const spec = specFor(context, plan, mountPoint, traces);
    writeCellFolder(folder, {
      config: JSON.stringify(spec),
      mountTable: mountTable(rootfs, mountPoint, host.runtime.path),
    });
    launched = launch({
      tools: host.tools,
      mountTable: folder.mountTable,
      joinFiles: joinFiles(hierarchies, name, shape),
      runtimeArgv: runtimeCommand(host.runtime, runtimeCall(folder, id)),
      stdin: plan.role === 'bundle' ? 'pipe' : 'null',
    });
    const cgroup = createCellCgroup(hierarchies, name, shape, plan.limits);
    await release(launched, options.bootDeadlineMs);
    return superviseCell({
      id,
      plan,
      facts: factsOf(context, plan, spec, cgroup),
      launched,
      cgroup,
      folder,
      bootDeadlineMs: options.bootDeadlineMs,
      awaitEmpty: () => awaitEmpty(traces),
      dismantle: () => dismantleOrTell(context, id, traces),
      ignoreDeadline: options.ignoreDeadlineForTest === true,
    });
  } catch (thrown) {
    await undo(context, id, traces, launched);
    throw hostError(thrown, 'DATA_DIR_UNUSABLE', 'Cannot write the bundle of a cell');
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

function specFor(context: BootContext, plan: CellPlan, rootPath: string, traces: Traces): OciSpec {
  const { host, options } = context;
  const cgroupsPath = runtimeCgroupPath(traces.name, cgroupShape(host.runtime));
  const spec = makeSpec({
    plan,
    rootPath,
    ids: traces.claim,
    arch: host.arch,
    procSubset: host.procSubset,
    ...(cgroupsPath === undefined ? {} : { cgroupsPath }),
    ...(host.apparmorProfile === undefined ? {} : { apparmorProfile: host.apparmorProfile }),
  });
  return options.weakenForTest === undefined ? spec : options.weakenForTest(spec);
}

function factsOf(context: BootContext, plan: CellPlan, spec: OciSpec, cgroup: CellCgroup): CellFacts {
  const { options, host } = context;
  const properties = [
    ...propertiesOf(spec),
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
    acceptedRisks: [],
  };
}

/** A failed boot leaves what a dead cell leaves, in parts. */
async function undo(context: BootContext, id: CellId, traces: Traces, launched: Launched | undefined): Promise<void> {
  const child = launched?.child;
  if (child?.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const exited = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await exited;
  }
  for (const stream of child?.stdio ?? []) stream?.destroy();
  await awaitEmpty(traces);
  await dismantleOrTell(context, id, traces);
}

async function dismantleOrTell(context: BootContext, id: CellId, traces: Traces): Promise<GloveboxError | undefined> {
  const left = await dismantle(traces);
  if (left !== undefined) context.onLost(id);
  return left;
}
