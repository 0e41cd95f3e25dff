import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The launcher. */
export const bin = fileURLToPath(new URL('../../apps/cli/bin/glovebox.mjs', import.meta.url));

export interface CliRun {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** stdout as JSON; throws when it is none. */
  json: () => Record<string, unknown> & {
    error?: { code: string; message: string; hint?: string; place?: Record<string, unknown> };
  };
}

export interface CliOptions {
  dataDir: string;
  cwd?: string;
  /** `open`: nothing is written and it stays open. Otherwise it is closed after this text. */
  stdin?: string | { open: true };
  env?: Record<string, string>;
  /** A program and arguments that the launcher is started with, such as `unshare`. */
  through?: readonly string[];
  /** Called with the process once it runs. */
  onStart?: (child: ChildProcess) => void;
}

export interface RunningCli {
  /** The launcher, or what it is started with. */
  child: ChildProcess;
  done: Promise<CliRun>;
  /** Resolves with the first match in what was written to a stream until now or will be; rejects when the process ends without. */
  seen(stream: 'stdout' | 'stderr', pattern: RegExp): Promise<RegExpExecArray>;
  /** The process that does the work, below the launcher. Undefined when it is not there yet or no more. */
  workerPid(): number | undefined;
}

/** Run the CLI as a user does: through its launcher, in a process of its own, with a small environment. */
export const glovebox = (args: readonly string[], options: CliOptions): Promise<CliRun> =>
  startGlovebox(args, options).done;

export function startGlovebox(args: readonly string[], options: CliOptions): RunningCli {
  const [program, ...argv] = [...(options.through ?? []), process.execPath, bin, ...args] as [string, ...string[]];
  const child = spawn(program, argv, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: {
      PATH: process.env.PATH ?? '/usr/sbin:/usr/bin:/sbin:/bin',
      HOME: options.dataDir,
      GLOVEBOX_DATA_DIR: options.dataDir,
      // Where packages come from is a matter of the machine, though the home is not.
      npm_config_userconfig: process.env.npm_config_userconfig ?? join(homedir(), '.npmrc'),
      ...(process.env.npm_config_registry === undefined
        ? {}
        : { npm_config_registry: process.env.npm_config_registry }),
      ...(process.env.GLOVEBOX_EXTRA_CA === undefined ? {} : { GLOVEBOX_EXTRA_CA: process.env.GLOVEBOX_EXTRA_CA }),
      ...options.env,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const written = { stdout: '', stderr: '' };
  const watchers = new Set<() => void>();
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      written[name] += text;
      for (const watch of watchers) watch();
    });
  }
  child.stdin.on('error', () => undefined);
  if (typeof options.stdin !== 'object') child.stdin.end(options.stdin ?? '');
  const done = new Promise<CliRun>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) =>
      resolve({ code, signal, ...written, json: () => JSON.parse(written.stdout) as ReturnType<CliRun['json']> }),
    );
  });
  options.onStart?.(child);
  return {
    child,
    done,
    seen: (stream, pattern) =>
      new Promise((resolve, reject) => {
        const watch = (): void => {
          const match = pattern.exec(written[stream]);
          if (match === null) return;
          watchers.delete(watch);
          resolve(match);
        };
        watchers.add(watch);
        watch();
        done.then(
          () => reject(new Error(`it ended without ${pattern} on ${stream}:\n${written.stdout}\n${written.stderr}`)),
          reject,
        );
      }),
    workerPid: () => (child.pid === undefined ? undefined : findWorker(child.pid)),
  };
}

/** The one process below `ancestor` that runs the program itself. */
function findWorker(ancestor: number): number | undefined {
  const parents = new Map(
    readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map((name) => [Number(name), parentOf(Number(name))]),
  );
  const isBelow = (pid: number): boolean => {
    for (let at = parents.get(pid); at !== undefined && at > 1; at = parents.get(at)) if (at === ancestor) return true;
    return false;
  };
  return [...parents.keys()].find(
    (pid) => isBelow(pid) && readProc(pid, 'cmdline').includes('/apps/cli/src/main.ts\0'),
  );
}

function parentOf(pid: number): number | undefined {
  const stat = readProc(pid, 'stat');
  const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  return Number.isInteger(parent) ? parent : undefined;
}

function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}
