import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf, type EngineNamespaces, openEngineNamespaces, removeCgroupsLike } from './engine-namespaces.ts';

/** A real container engine of a test's own. */
export interface RunningEngine {
  /** What it serves its API on. */
  socketPath: string;
  /** Everything of it is in there, data, sockets and log. */
  home: string;
  /** Start a program where the engine runs, in its namespaces. */
  spawn(command: string[]): ChildProcess;
  /** Host pids of the engine, of its helpers and of what runs in its containers. */
  pids(): number[];
  log(): string;
  /** SIGKILL to the engine's own process; containers and their helpers stay, as far as the engine lets them. */
  kill(): Promise<void>;
  /** SIGTERM, as an administrator stops it. */
  shutDown(): Promise<void>;
  /** Start it again over the same data, after `kill` or `shutDown`. */
  start(): Promise<void>;
  /** End everything. Throws when anything of it stays on this host: a process, a mount, a cgroup, a directory. */
  stop(): Promise<void>;
}

export interface EngineProgram {
  /** Once, before it is started for the first time. */
  prepare?(home: string): void;
  command(home: string): string[];
  /** Lines of sh for the set-up of its namespaces. */
  setUp?: string;
  /** Which cgroups are its containers'; `path` is below the hierarchy. */
  ownsCgroup(path: string, home: string): boolean;
}

const startMs = 30_000;
const endMs = 30_000;

export async function startEngine(program: EngineProgram): Promise<RunningEngine> {
  const home = mkdtempSync(join(tmpdir(), 'gb-engine-'));
  // With a user namespace the engine's containers pass through here under another uid.
  chmodSync(home, 0o711);
  const socketPath = join(home, 'sock');
  const logPath = join(home, 'log');
  const log = (): string => readFileSync(logPath, 'utf8');
  let namespaces: EngineNamespaces | undefined;
  let engine: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    const output = openSync(logPath, 'a');
    rmSync(socketPath, { force: true });
    engine = namespaces?.spawn(program.command(home), output);
    closeSync(output);
    for (const end = Date.now() + startMs; !(await answers(socketPath)); await sleep(20)) {
      if (engine?.exitCode !== null || Date.now() > end)
        throw new Error(`the engine does not start: ${log().slice(-2000)}`);
    }
  };
  const signal = async (name: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    if (engine === undefined || engine.exitCode !== null || engine.signalCode !== null) return;
    const gone = once(engine, 'exit');
    // The child is nsenter, which waits for the engine in the other pid namespace.
    for (const pid of childrenOf(engine.pid as number)) process.kill(pid, name);
    if ((await Promise.race([gone, sleep(endMs)])) === undefined)
      throw new Error(`the engine does not end: ${log().slice(-2000)}`);
  };
  const stop = async (): Promise<void> => {
    const mine = (path: string): boolean => program.ownsCgroup(path, home);
    await namespaces?.end();
    const cgroups = await removeCgroupsLike(mine);
    rmSync(home, { recursive: true, force: true });
    const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
      .split('\n')
      .filter((line) => line.includes(home));
    if (cgroups.length + mounts.length > 0)
      throw new Error(`of an engine there stays ${[...cgroups, ...mounts].join(', ')}`);
  };

  try {
    program.prepare?.(home);
    namespaces = await openEngineNamespaces(program.setUp);
    await start();
  } catch (error) {
    await stop();
    throw error;
  }
  const inside = namespaces;
  return {
    socketPath,
    home,
    spawn: (command) => inside.spawn(command, 'ignore'),
    pids: () => inside.pids(),
    log,
    kill: () => signal('SIGKILL'),
    shutDown: () => signal('SIGTERM'),
    start,
    stop,
  };
}

function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = get({ socketPath, path: '/_ping', timeout: 2000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    request.on('timeout', () => request.destroy()).on('error', () => resolve(false));
  });
}

/** A part of a name that tells this engine's cgroups from those of others. */
export const engineName = (home: string): string => basename(home);
