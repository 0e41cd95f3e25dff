import { accessSync, constants, statfsSync } from 'node:fs';
import { release as kernelRelease } from 'node:os';
import { dirname } from 'node:path';
import {
  type Cell,
  caught,
  type FactOutcome,
  type HostFact,
  type HostReport,
  hostFact,
  inForce,
  isUsable,
  missing,
  ownProfile,
  probeCell,
  probedFacts,
  unprobedFacts,
  watchHostNamespaces,
} from '@glovebox/cell';
import { type AcceptableRisk, type CellClass, type CellId, type CellPlan, formatSize } from '@glovebox/contract';
import type { BootedCell } from './boot.ts';
import { missingControllers } from './cell-cgroup.ts';
import { type CgroupHierarchies, readHierarchies } from './cgroup-hierarchies.ts';
import { gvisorProfile, untoldFacts } from './gvisor-profile.ts';
import {
  apparmorProfileName,
  kernelHasProcSubset,
  readApparmor,
  readUserNamespaceLimit,
  requirePlatform,
  scratchInodes,
} from './host.ts';
import { findLaunchTools } from './launch.ts';
import { driverName, type ResolvedOptions } from './options.ts';
import { findRuntime, holesRefusal, type Runtime } from './runtime.ts';
import { witnessSandbox } from './sandbox-witness.ts';

export interface InspectContext {
  options: ResolvedOptions;
  boot(plan: CellPlan, id: CellId, onBooted?: (cell: BootedCell) => void): Promise<Cell>;
}

/** A bundle is small; less than this and a run's records will not fit beside it. */
const minFreeBytes = 64 * 1024 * 1024;

/** What this host offers. Each fact is looked at by itself, so that one lack does not hide the others. */
export async function inspectHost(
  context: InspectContext,
  image: string | undefined,
  cellClass: CellClass,
): Promise<HostReport> {
  const { options } = context;
  const facts: HostFact[] = [
    platformFact(),
    rootFact(),
    userNamespaceFact(),
    launcherFact(),
    ...cgroupFacts(),
    ...(await runtimeFacts(options, cellClass)),
    procFact(),
    apparmorFact(),
    diskFact(options.runDirectory),
  ];
  const mayProbe = image !== undefined && isUsable(facts, true);
  facts.push(...(mayProbe ? await probeFacts(context, image, cellClass) : unprobedFacts()));
  return { driver: driverName, class: cellClass, facts, usable: isUsable(facts, image !== undefined) };
}

async function probeFacts({ boot }: InspectContext, image: string, cellClass: CellClass): Promise<HostFact[]> {
  try {
    if (cellClass === 'gvisor') return await sandboxFacts(boot, image);
    const { facts, results } = await probeCell({ image, class: cellClass, boot, profileOf: () => ownProfile });
    return probedFacts(facts, results);
  } catch (thrown) {
    return [...unprobedFacts(), hostFact('probe-cell', true, caught(thrown))];
  }
}

/** What a cell on a kernel of its own cannot tell of itself is looked at from the host meanwhile. */
async function sandboxFacts(boot: InspectContext['boot'], image: string): Promise<HostFact[]> {
  let witness: Promise<FactOutcome> | undefined;
  const { facts, results } = await probeCell({
    image,
    class: 'gvisor',
    profileOf: () => gvisorProfile,
    async boot(plan, id) {
      let booted: BootedCell | undefined;
      const watch = watchHostNamespaces();
      const cell = await boot(plan, id, (found) => {
        booted = found;
      });
      if (booted !== undefined) witness = witnessSandbox(booted, cell.ended, watch);
      return cell;
    },
  });
  const confined = (await witness) ?? { state: 'unknown' as const, detail: 'not looked at' };
  return [
    ...probedFacts(facts, results),
    ...untoldFacts().map(([name, outcome]) => hostFact(name, false, outcome)),
    hostFact('sandbox-confined', true, confined),
  ];
}

function platformFact(): HostFact {
  try {
    requirePlatform();
    return hostFact('kernel', true, inForce(`Linux ${kernelRelease()} on ${process.arch}`));
  } catch (thrown) {
    return hostFact('kernel', true, caught(thrown));
  }
}

function rootFact(): HostFact {
  const uid = process.geteuid?.();
  return hostFact('root', true, uid === 0 ? inForce('runs as root') : missing(`runs as uid ${uid}`, 'Run as root.'));
}

function userNamespaceFact(): HostFact {
  const limit = readUserNamespaceLimit();
  const outcome =
    limit !== undefined && limit > 0
      ? inForce(`${limit} allowed`)
      : missing(
          limit === undefined ? 'the kernel has none' : 'user.max_user_namespaces is 0',
          'Set user.max_user_namespaces above 0.',
        );
  return hostFact('user-namespaces', true, outcome);
}

function launcherFact(): HostFact {
  try {
    const tools = Object.values(findLaunchTools());
    return hostFact('death-with-owner', true, inForce(`${tools.join(', ')}`));
  } catch (thrown) {
    return hostFact('death-with-owner', true, caught(thrown));
  }
}

function cgroupFacts(): HostFact[] {
  let hierarchies: CgroupHierarchies;
  try {
    hierarchies = readHierarchies();
  } catch (thrown) {
    return [hostFact('cgroups', true, caught(thrown))];
  }
  const lacking = missingControllers(hierarchies);
  const where = (controller: string): string => {
    const found = hierarchies.of(controller);
    return found === undefined ? `no ${controller}` : `${controller}: version ${found.version} at ${found.mountPoint}`;
  };
  const needed = ['memory', 'pids', 'cpu'];
  const detail = [`${hierarchies.mode}`, ...needed.map(where)].join('; ');
  if (lacking.length > 0)
    return [hostFact('cgroups', true, missing(detail, 'Boot the host with these controllers, or delegate them.'))];
  const closed = needed.filter((controller) => !isWritable(hierarchies.of(controller)?.mountPoint ?? ''));
  if (closed.length > 0) {
    const what = `${detail}; no cgroup can be made for ${closed.join(', ')}`;
    return [
      hostFact(
        'cgroups',
        true,
        missing(what, 'Run as root, with the hierarchies mounted read-write, or delegate them.'),
      ),
    ];
  }
  return [hostFact('cgroups', true, inForce(detail))];
}

/** A look, not a try: a mount that is read-only says no to root too. */
function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

async function runtimeFacts(options: ResolvedOptions, cellClass: CellClass): Promise<HostFact[]> {
  try {
    const runtime = await findRuntime(options.runtime, cellClass, options.programDeadlineMs);
    const { kind, version, packageVersion, path, verdict } = runtime;
    const packaged = packageVersion === undefined ? '' : ` (package ${packageVersion})`;
    return [
      hostFact('runtime', true, inForce(`${kind} ${version}${packaged} at ${path}`)),
      floorFact(runtime, options.acceptedRisks),
      ...(verdict.removed.length > 0 ? [removedHolesFact(runtime)] : []),
      ...(kind === 'runsc' ? [scratchInodesFact(options.acceptedRisks)] : []),
    ];
  } catch (thrown) {
    return [hostFact('runtime', true, caught(thrown))];
  }
}

function floorFact(runtime: Runtime, acceptedRisks: readonly AcceptableRisk[]): HostFact {
  const risk = 'runtime-below-floor';
  const outcome =
    runtime.verdict.open.length === 0
      ? inForce('no hole is known that a cell could reach')
      : caught(holesRefusal(runtime));
  return { ...hostFact('runtime-floor', !acceptedRisks.includes(risk), outcome), risk };
}

const removedHolesFact = ({ verdict }: Runtime): HostFact =>
  hostFact('runtime-holes', false, {
    state: 'degraded',
    detail: verdict.removed.map(({ id, removedBy }) => `${id}: ${removedBy?.how}`).join('; '),
    hint: 'Not required; upgrade the runtime all the same.',
  });

function scratchInodesFact(acceptedRisks: readonly AcceptableRisk[]): HostFact {
  const risk = 'scratch-inodes-unlimited';
  const { detail, hint } = scratchInodes;
  return { ...hostFact('scratch-inodes', !acceptedRisks.includes(risk), missing(detail, hint)), risk };
}

function procFact(): HostFact {
  return hostFact(
    'proc-subset',
    false,
    kernelHasProcSubset()
      ? inForce('/proc of a cell shows its processes alone')
      : {
          state: 'degraded',
          detail: 'before Linux 5.8: paths of /proc are masked one by one',
          hint: 'Use Linux 5.8 or newer.',
        },
  );
}

function apparmorFact(): HostFact {
  const { enabled, loaded } = readApparmor();
  if (loaded !== undefined) return hostFact('apparmor', false, inForce(`profile ${loaded}`));
  return hostFact(
    'apparmor',
    false,
    enabled
      ? {
          state: 'degraded',
          detail: 'the kernel has it, no profile is loaded',
          hint: `Load a profile named ${apparmorProfileName}.`,
        }
      : { state: 'missing', detail: 'the kernel does not have it on', hint: 'Not required.' },
  );
}

function diskFact(runDirectory: string): HostFact {
  for (let path = runDirectory; ; path = dirname(path)) {
    try {
      const { bavail, bsize } = statfsSync(path);
      const free = bavail * bsize;
      const detail = `${formatSize(free)} free at ${path}`;
      return hostFact('disk', true, free >= minFreeBytes ? inForce(detail) : missing(detail, 'Free some space.'));
    } catch {
      if (path === '/') return hostFact('disk', true, { state: 'unknown', detail: `cannot read ${runDirectory}` });
    }
  }
}
