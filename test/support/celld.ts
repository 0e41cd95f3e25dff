import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { noteInstance } from './instances.ts';

export const celldBin = fileURLToPath(new URL('../../apps/celld/bin/celld', import.meta.url));

export interface CelldOptions {
  imagesDirectory: string;
  /** More arguments, or others in the place of those that the test gives. */
  args?: readonly string[];
  /** Directory with `run` and the socket's; made, and removed at the end, where it is not given. */
  home?: string;
  /** Who celld runs as, with no other groups; root where it is left out. A home that is not given is made for it. */
  user?: CelldUser;
  /** Nobody reads its standard error: the pipe is closed. */
  deaf?: boolean;
}

export interface CelldUser {
  uid: number;
  gid: number;
}

export interface TestCelld {
  child: ChildProcess;
  home: string;
  socketPath: string;
  runDirectory: string;
  /** What it said until now. */
  said(): string;
  /** Ends it by a signal and resolves with its exit code, or the signal where that killed it. */
  end(signal: NodeJS.Signals): Promise<number | string | null>;
}

/** celld as a user starts it, in a process of its own; resolves when it says that it is ready, rejects with what it says. */
export async function startCelld(options: CelldOptions): Promise<TestCelld> {
  const home = options.home ?? makeHome(options.user);
  const socketPath = join(home, 'socket', 'celld.sock');
  const runDirectory = join(home, 'run');
  const child = spawn(
    celldBin,
    [
      ...['--socket', socketPath, '--run-dir', runDirectory, '--images', options.imagesDirectory],
      ...(options.args ?? []),
    ],
    { ...options.user, cwd: '/', env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  if (options.deaf === true) child.stderr.destroy();
  let said = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
  }
  const exited = once(child, 'exit').then(([code, signal]) => (signal ?? code) as number | string | null);
  const ready = new Promise<void>((resolve) => {
    child.stdout.on('data', () => {
      if (said.includes('celld ready')) resolve();
    });
  });
  const end = await Promise.race([ready, exited]);
  if (end !== undefined) throw Object.assign(new Error(said), { exit: end });
  noteInstance(readFileSync(join(runDirectory, 'instance'), 'utf8').trim(), runDirectory);
  return {
    child,
    home,
    socketPath,
    runDirectory,
    said: () => said,
    async end(signal) {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      const how = await exited;
      if (options.home === undefined) rmSync(home, { recursive: true, force: true });
      return how;
    },
  };
}

/** Places as an administrator makes them: nobody but celld's user can write there, and the socket's can be entered. */
export function makeHome(user: CelldUser = { uid: 0, gid: 0 }): string {
  const home = mkdtempSync(join(tmpdir(), 'glovebox-celld-'));
  chmodSync(home, 0o755);
  for (const [name, mode] of [
    ['socket', 0o755],
    ['run', 0o700],
  ] as const) {
    mkdirSync(join(home, name), { mode });
    chownSync(join(home, name), user.uid, user.gid);
  }
  return home;
}
