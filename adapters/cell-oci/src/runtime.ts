import { realpathSync } from 'node:fs';
import { basename, isAbsolute } from 'node:path';
import { describeHoles, judgeVersion, type VersionVerdict } from '@glovebox/cell/host';
import { type CellClass, GloveboxError } from '@glovebox/contract';
import type { CgroupShape } from './cell-cgroup.ts';
import { findProgram, isExecutable, runProgram } from './host-program.ts';

export interface Runtime {
  kind: 'crun' | 'runc' | 'runsc';
  path: string;
  version: string;
  /** Version of the distribution's package, where the host can tell. */
  packageVersion?: string;
  /** What is known against it. */
  verdict: VersionVerdict;
}

/** `crun`, `runc` and `runsc` are looked for; a path is taken as it is and its kind read off its version. */
export type RuntimeChoice = 'crun' | 'runc' | 'runsc' | (string & {});

/** Runtimes of a class, the preferred first. */
const kindsOf: Record<CellClass, readonly Runtime['kind'][]> = { ns: ['crun', 'runc'], gvisor: ['runsc'], kvm: [] };

/**
 * Find the runtime for a class and ask its version. Of several the first that is there is taken; one that is there but
 * broken is an error and not a reason to take the other, since it would be broken for a reason.
 *
 * A choice of runsc leaves nothing for cells that it cannot make. A choice of another leaves runsc to be looked for, so that
 * one driver can have both classes.
 *
 * @throws GloveboxError `RUNTIME_MISSING`, `RUNTIME_BROKEN`, `CLASS_UNAVAILABLE`.
 */
export async function findRuntime(
  choice: RuntimeChoice | undefined,
  cellClass: CellClass,
  deadlineMs: number,
): Promise<Runtime> {
  const kinds = kindsOf[cellClass];
  if (kinds.length === 0) throw unavailable(`no runtime makes cells of class ${cellClass}`);
  if (choice !== undefined) {
    const chosen = await identify(locate(choice), deadlineMs);
    if (kinds.includes(chosen.kind)) return chosen;
    if (cellClass === 'ns')
      throw unavailable(`${chosen.path} is ${chosen.kind}, which makes cells of class gvisor alone`);
  }
  const path = kinds.map(findProgram).find((found) => found !== undefined);
  if (path === undefined) {
    throw new GloveboxError('RUNTIME_MISSING', {
      message: `Found no ${kinds.join(' and no ')}.`,
      ...(cellClass === 'gvisor' ? { hint: 'Install runsc: apt-get install runsc, or from gvisor.dev.' } : {}),
    });
  }
  return identify(realpathSync(path), deadlineMs);
}

const unavailable = (why: string): GloveboxError =>
  new GloveboxError('CLASS_UNAVAILABLE', { message: `This host has no such cells: ${why}.` });

/** What is known against a runtime and not removed by our plan, for who has not accepted to go on with it. */
export const holesRefusal = (runtime: Runtime): GloveboxError =>
  new GloveboxError('HOST_UNSUPPORTED', {
    message: `${describeHoles(runtime, runtime.verdict.open)}.`,
    hint: `Upgrade ${runtime.kind}, or accept the risk runtime-below-floor.`,
  });

function locate(choice: RuntimeChoice): string {
  if (isAbsolute(choice)) {
    if (isExecutable(choice)) return realpathSync(choice);
    throw new GloveboxError('RUNTIME_BROKEN', { message: `${choice} is not an executable file.` });
  }
  const path = findProgram(basename(choice));
  if (path === undefined) throw new GloveboxError('RUNTIME_MISSING', { message: `Found no ${basename(choice)}.` });
  return realpathSync(path);
}

async function identify(path: string, deadlineMs: number): Promise<Runtime> {
  const banner = await run(path, ['--version'], deadlineMs);
  const match = /^(crun|runc|runsc) version (\S+)/m.exec(banner);
  if (match === null) {
    throw new GloveboxError('RUNTIME_BROKEN', { message: `${path} does not tell that it is crun, runc or runsc.` });
  }
  const program = { kind: match[1] as Runtime['kind'], version: match[2] ?? '' };
  const verdict = judgeVersion(program);
  if (verdict.open.length === 0) return { ...program, path, verdict };
  // A distribution mends a hole without raising the version, so below the floor its package has the word.
  const packageVersion = await debianVersion(path, deadlineMs);
  if (packageVersion === undefined) return { ...program, path, verdict };
  return { ...program, path, packageVersion, verdict: judgeVersion({ ...program, packageVersion }) };
}

/** Only of the package that owns this very file: a runtime beside it is not mended by it. */
async function debianVersion(path: string, deadlineMs: number): Promise<string | undefined> {
  const dpkgQuery = findProgram('dpkg-query');
  if (dpkgQuery === undefined) return undefined;
  try {
    const owner = await run(dpkgQuery, ['--search', path], deadlineMs);
    const name = owner.split(':')[0];
    if (name === undefined) return undefined;
    const version = (await run(dpkgQuery, ['--show', '--showformat', `${'$'}{Version}`, name], deadlineMs)).trim();
    return version === '' ? undefined : version;
  } catch {
    return undefined;
  }
}

const run = (path: string, args: readonly string[], deadlineMs: number): Promise<string> =>
  runProgram(path, args, deadlineMs, 'RUNTIME_BROKEN');

/** crun can be told to leave cgroups alone, and so can runsc, which is the cell's kernel; runc cannot. */
export function cgroupShape({ kind }: Pick<Runtime, 'kind'>): CgroupShape {
  if (kind === 'runsc') return 'whole';
  return kind === 'crun' ? 'direct' : 'nested';
}

export interface RuntimeCall {
  bundle: string;
  stateFolder: string;
  log: string;
  pidFile: string;
  id: string;
}

/** argv that runs a bundle in the foreground; crun and runc give it descriptor 3, runsc the standard streams alone. */
export function runtimeCommand({ kind, path }: Pick<Runtime, 'kind' | 'path'>, call: RuntimeCall): string[] {
  return [
    path,
    ...kindOptions[kind](call),
    '--root',
    call.stateFolder,
    '--log-format=json',
    'run',
    '--pid-file',
    call.pidFile,
    ...(kind === 'runsc' ? [] : ['--preserve-fds', '1']),
    '--bundle',
    call.bundle,
    call.id,
  ];
}

/**
 * runsc: the platform that needs nothing of the host; with the one by KVM it was seen to spin for ever on a host that has
 * the device but not what it takes. No network, also not inside of its own kernel. The list of system calls holds for what
 * runs on that kernel, which is not so unless it is asked for; what the kernel itself may do is its own list.
 */
const kindOptions: Record<Runtime['kind'], (call: RuntimeCall) => string[]> = {
  crun: ({ log }) => ['--cgroup-manager=disabled', `--log=file:${log}`],
  runc: ({ log }) => ['--log', log],
  runsc: ({ log }) => [
    ...['--platform=ptrace', '--network=none', '--ignore-cgroups', '--oci-seccomp', '--file-access=exclusive'],
    ...['--log', log],
  ],
};
