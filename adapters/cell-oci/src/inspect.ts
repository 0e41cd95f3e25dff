import { accessSync, constants, readlinkSync, statfsSync } from 'node:fs';
import { release as kernelRelease } from 'node:os';
import { dirname } from 'node:path';
import { finished } from 'node:stream/promises';
import {
  type Cell,
  conformanceChecks,
  type HostFact,
  type HostReport,
  judgeProbe,
  maxProbeBytes,
  readProbeReport,
  sysprobeArch,
} from '@glovebox/cell';
import { type CellId, type CellPlan, formatSize, GloveboxError, newCellId, toErrorData } from '@glovebox/contract';
import { missingControllers } from './cell-cgroup.ts';
import { type CgroupHierarchies, readHierarchies } from './cgroup-hierarchies.ts';
import {
  apparmorProfileName,
  kernelHasProcSubset,
  readApparmor,
  readUserNamespaceLimit,
  requirePlatform,
} from './host.ts';
import { findLaunchTools } from './launch.ts';
import { driverName, type ResolvedOptions } from './options.ts';
import { findRuntime } from './runtime.ts';

export interface InspectContext {
  options: ResolvedOptions;
  boot(plan: CellPlan, id: CellId): Promise<Cell>;
}

/** A bundle is small; less than this and a run's records will not fit beside it. */
const minFreeBytes = 64 * 1024 * 1024;

/** A probe runs for some 100 ms. */
const probeDeadlineMs = 20_000;

/** What this host offers. Each fact is looked at by itself, so that one lack does not hide the others. */
export async function inspectHost(context: InspectContext, image: string | undefined): Promise<HostReport> {
  const { options } = context;
  const facts: HostFact[] = [
    platformFact(),
    rootFact(),
    userNamespaceFact(),
    launcherFact(),
    ...cgroupFacts(),
    await runtimeFact(options),
    procFact(),
    apparmorFact(),
    diskFact(options.runDirectory),
  ];
  const usable = (): boolean => facts.every(({ required, state }) => !required || state === 'in-force');
  facts.push(...(image !== undefined && usable() ? await probeFacts(context, image) : unknownFacts()));
  const report = { driver: driverName, facts };
  return { ...report, usable: image === undefined ? facts.every(isNotMissing) : usable() };
}

const isNotMissing = ({ required, state }: HostFact): boolean =>
  !required || state === 'in-force' || state === 'unknown';

type Outcome = Pick<HostFact, 'state' | 'detail'> & { hint?: string };

const fact = (name: string, required: boolean, outcome: Outcome): HostFact => ({ name, required, ...outcome });
const inForce = (detail: string): Outcome => ({ state: 'in-force', detail });
const missing = (detail: string, hint: string): Outcome => ({ state: 'missing', detail, hint });

/** What a check that throws says is missing. */
function caught(thrown: unknown): Outcome {
  const { message, hint } = toErrorData(thrown);
  return { state: 'missing', detail: message, ...(hint === undefined ? {} : { hint }) };
}

function platformFact(): HostFact {
  try {
    requirePlatform();
    return fact('kernel', true, inForce(`Linux ${kernelRelease()} on ${process.arch}`));
  } catch (thrown) {
    return fact('kernel', true, caught(thrown));
  }
}

function rootFact(): HostFact {
  const uid = process.geteuid?.();
  return fact('root', true, uid === 0 ? inForce('runs as root') : missing(`runs as uid ${uid}`, 'Run as root.'));
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
  return fact('user-namespaces', true, outcome);
}

function launcherFact(): HostFact {
  try {
    const tools = Object.values(findLaunchTools());
    return fact('death-with-owner', true, inForce(`${tools.join(', ')}`));
  } catch (thrown) {
    return fact('death-with-owner', true, caught(thrown));
  }
}

function cgroupFacts(): HostFact[] {
  let hierarchies: CgroupHierarchies;
  try {
    hierarchies = readHierarchies();
  } catch (thrown) {
    return [fact('cgroups', true, caught(thrown))];
  }
  const lacking = missingControllers(hierarchies);
  const where = (controller: string): string => {
    const found = hierarchies.of(controller);
    return found === undefined ? `no ${controller}` : `${controller}: version ${found.version} at ${found.mountPoint}`;
  };
  const needed = ['memory', 'pids', 'cpu'];
  const detail = [`${hierarchies.mode}`, ...needed.map(where)].join('; ');
  if (lacking.length > 0)
    return [fact('cgroups', true, missing(detail, 'Boot the host with these controllers, or delegate them.'))];
  const closed = needed.filter((controller) => !isWritable(hierarchies.of(controller)?.mountPoint ?? ''));
  if (closed.length > 0) {
    const what = `${detail}; no cgroup can be made for ${closed.join(', ')}`;
    return [
      fact('cgroups', true, missing(what, 'Run as root, with the hierarchies mounted read-write, or delegate them.')),
    ];
  }
  return [fact('cgroups', true, inForce(detail))];
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

async function runtimeFact(options: ResolvedOptions): Promise<HostFact> {
  try {
    const { kind, version, packageVersion, path } = await findRuntime(options.runtime, options.programDeadlineMs);
    const packaged = packageVersion === undefined ? '' : ` (package ${packageVersion})`;
    return fact('runtime', true, inForce(`${kind} ${version}${packaged} at ${path}`));
  } catch (thrown) {
    return fact('runtime', true, caught(thrown));
  }
}

function procFact(): HostFact {
  return fact(
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
  if (loaded !== undefined) return fact('apparmor', false, inForce(`profile ${loaded}`));
  return fact(
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
      return fact('disk', true, free >= minFreeBytes ? inForce(detail) : missing(detail, 'Free some space.'));
    } catch {
      if (path === '/') return fact('disk', true, { state: 'unknown', detail: `cannot read ${runDirectory}` });
    }
  }
}

/** Without an image there is no probe, and what was not seen is not in force. */
const unknownFacts = (): HostFact[] =>
  conformanceChecks.map(({ property, claim }) =>
    fact(property, true, { state: 'unknown', detail: `not probed: ${claim}` }),
  );

async function probeFacts({ boot }: InspectContext, image: string): Promise<HostFact[]> {
  const plan = probePlan(image);
  try {
    requireProbe();
    const { output, cell } = await runProbe(boot, plan);
    const seen = { ...readProbeReport(output), plan, hostNamespaces: readNamespaces() };
    const judged = judgeProbe(seen).map(({ property, claim, violations }) =>
      fact(
        property,
        true,
        violations.length === 0
          ? inForce(claim)
          : { state: 'missing', detail: violations.slice(0, 5).join('; '), hint: 'Do not run nodes on this host.' },
      ),
    );
    const limits = ['cgroup-cpu', 'cgroup-memory', 'cgroup-pids', 'cgroup-swap', 'cgroup-devices'].map((name) => {
      const required = name !== 'cgroup-devices' && name !== 'cgroup-swap';
      return fact(
        name,
        required,
        cell.facts.properties.includes(name)
          ? inForce('set on the probe cell')
          : { state: 'degraded', detail: 'this kernel or runtime does not offer it' },
      );
    });
    return [...limits, ...judged, fact('probe-cell', true, inForce('booted, read and removed'))];
  } catch (thrown) {
    return [...unknownFacts(), fact('probe-cell', true, caught(thrown))];
  }
}

/** Cells may be booted elsewhere too. But what is not shown to be in force is not in force. */
function requireProbe(): void {
  if (process.arch === sysprobeArch) return;
  throw new GloveboxError('HOST_UNSUPPORTED', {
    message: `The probe makes system calls of ${sysprobeArch}: what cells on ${process.arch} are kept from cannot be shown.`,
    hint: `Use a host with ${sysprobeArch}. On ${process.arch} no host is called usable yet.`,
  });
}

const probePlan = (image: string): CellPlan => ({
  schema: 'glovebox.cell-plan/1',
  role: 'probe',
  class: 'ns',
  image,
  limits: {
    cpu: 1,
    bootCpu: 1,
    memoryBytes: 128 * 1024 * 1024,
    pids: 32,
    scratchBytes: 1024 * 1024,
    scratchInodes: 64,
    openFiles: 64,
    lifetimeMs: probeDeadlineMs,
  },
});

async function runProbe(boot: InspectContext['boot'], plan: CellPlan): Promise<{ output: Buffer; cell: Cell }> {
  const cell = await boot(plan, newCellId());
  const chunks: Buffer[] = [];
  let bytes = 0;
  cell.stdout.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxProbeBytes) cell.kill('violation');
    else chunks.push(chunk);
  });
  cell.stderr.resume();
  const [end] = await Promise.all([cell.ended, finished(cell.stdout)]);
  if (end.error !== undefined) throw GloveboxError.fromData(end.error);
  // Its last call is one that the filter answers with death.
  if (end.cause !== 'self')
    throw new GloveboxError('CELL_BOOT_FAILED', { message: `The probe cell ended by ${end.cause}.` });
  return { output: Buffer.concat(chunks), cell };
}

function readNamespaces(): Record<string, string> {
  const links = ['cgroup', 'ipc', 'mnt', 'net', 'pid', 'user', 'uts'];
  return Object.fromEntries(links.map((name) => [name, readlinkSync(`/proc/self/ns/${name}`)]));
}
