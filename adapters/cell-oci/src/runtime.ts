import { realpathSync } from 'node:fs';
import { basename, isAbsolute } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import type { CgroupShape } from './cell-cgroup.ts';
import { findProgram, isExecutable, runProgram } from './host-program.ts';

export interface Runtime {
  kind: 'crun' | 'runc';
  path: string;
  version: string;
  /** Version of the distribution's package, where the host can tell. */
  packageVersion?: string;
}

/** `crun` and `runc` are looked for; a path is taken as it is and its kind read off its version. */
export type RuntimeChoice = 'crun' | 'runc' | (string & {});

/**
 * Find the runtime and ask its version. Where nothing is chosen crun is taken, else runc; one that is there but broken is
 * an error and not a reason to take the other, since it would be broken for a reason.
 *
 * @throws GloveboxError `RUNTIME_MISSING`, `RUNTIME_BROKEN`, `HOST_UNSUPPORTED` (known holes).
 */
export async function findRuntime(choice: RuntimeChoice | undefined, deadlineMs: number): Promise<Runtime> {
  const path = locate(choice);
  const banner = await run(path, ['--version'], deadlineMs);
  const match = /^(crun|runc) version (\S+)/m.exec(banner);
  if (match === null) {
    throw new GloveboxError('RUNTIME_BROKEN', { message: `${path} does not tell that it is crun or runc.` });
  }
  const runtime: Runtime = { kind: match[1] as Runtime['kind'], path, version: match[2] ?? '' };
  await refuseKnownHoles(runtime, deadlineMs);
  return runtime;
}

function locate(choice: RuntimeChoice | undefined): string {
  if (choice !== undefined && isAbsolute(choice)) {
    if (isExecutable(choice)) return realpathSync(choice);
    throw new GloveboxError('RUNTIME_BROKEN', { message: `${choice} is not an executable file.` });
  }
  const names = choice === undefined ? ['crun', 'runc'] : [basename(choice)];
  const path = names.map(findProgram).find((found) => found !== undefined);
  if (path === undefined)
    throw new GloveboxError('RUNTIME_MISSING', { message: `Found no ${names.join(' and no ')}.` });
  return realpathSync(path);
}

/**
 * Floors below which a runtime has a hole that is open whatever our specification says. crun: capabilities that leak into
 * the inheritable set (CVE-2022-27650). runc: host descriptors that leak into the container (CVE-2024-21626).
 */
const floors: Record<Runtime['kind'], { version: string; debian: string; hole: string }> = {
  crun: { version: '1.4.4', debian: '1.4.4', hole: 'CVE-2022-27650' },
  runc: { version: '1.1.12', debian: '1.1.5+ds1-1+deb12u1', hole: 'CVE-2024-21626' },
};

/** A distribution mends a hole without raising the version, so below the floor its package has the word. */
async function refuseKnownHoles(runtime: Runtime, deadlineMs: number): Promise<void> {
  const floor = floors[runtime.kind];
  if (!isBelow(runtime.version, floor.version)) return;
  const packageVersion = await debianVersion(runtime, deadlineMs);
  if (packageVersion !== undefined) {
    runtime.packageVersion = packageVersion;
    if (await debianAtLeast(packageVersion, floor.debian, deadlineMs)) return;
  }
  throw new GloveboxError('HOST_UNSUPPORTED', {
    message: `${runtime.kind} ${packageVersion ?? runtime.version} is below ${floor.version} and open to ${floor.hole}.`,
    hint: `Upgrade ${runtime.kind}.`,
  });
}

/** Numbers by numbers; what follows them does not count. */
export function isBelow(version: string, floor: string): boolean {
  const numbers = (text: string) => (/^\d+(\.\d+)*/.exec(text)?.[0] ?? '0').split('.').map(Number);
  const [have, want] = [numbers(version), numbers(floor)];
  for (let i = 0; i < want.length; i++) {
    const difference = (have[i] ?? 0) - (want[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/** Only of the package that owns this very file: a runtime beside it is not mended by it. */
async function debianVersion(runtime: Runtime, deadlineMs: number): Promise<string | undefined> {
  const dpkgQuery = findProgram('dpkg-query');
  if (dpkgQuery === undefined) return undefined;
  try {
    const owner = await run(dpkgQuery, ['--search', runtime.path], deadlineMs);
    const name = owner.split(':')[0];
    if (name === undefined) return undefined;
    const version = (await run(dpkgQuery, ['--show', '--showformat', `${'$'}{Version}`, name], deadlineMs)).trim();
    return version === '' ? undefined : version;
  } catch {
    return undefined;
  }
}

async function debianAtLeast(version: string, floor: string, deadlineMs: number): Promise<boolean> {
  const dpkg = findProgram('dpkg');
  if (dpkg === undefined) return false;
  try {
    await run(dpkg, ['--compare-versions', version, 'ge', floor], deadlineMs);
    return true;
  } catch {
    return false;
  }
}

const run = (path: string, args: readonly string[], deadlineMs: number): Promise<string> =>
  runProgram(path, args, deadlineMs, 'RUNTIME_BROKEN');

/** crun can be told to leave cgroups alone; runc cannot. */
export const cgroupShape = (runtime: Pick<Runtime, 'kind'>): CgroupShape =>
  runtime.kind === 'crun' ? 'direct' : 'nested';

export interface RuntimeCall {
  bundle: string;
  stateFolder: string;
  log: string;
  pidFile: string;
  id: string;
}

/** argv that runs a bundle in the foreground and gives it descriptor 3. */
export function runtimeCommand(runtime: Pick<Runtime, 'kind' | 'path'>, call: RuntimeCall): string[] {
  const log = runtime.kind === 'crun' ? [`--log=file:${call.log}`] : ['--log', call.log];
  return [
    runtime.path,
    ...(runtime.kind === 'crun' ? ['--cgroup-manager=disabled'] : []),
    '--root',
    call.stateFolder,
    ...log,
    '--log-format=json',
    'run',
    '--pid-file',
    call.pidFile,
    '--preserve-fds',
    '1',
    '--bundle',
    call.bundle,
    call.id,
  ];
}
