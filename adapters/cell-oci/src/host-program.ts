import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { errnoOf } from '@glovebox/cell/host';
import { type ErrorCode, GloveboxError } from '@glovebox/contract';

/** Where programs of the host are looked for. Never along $PATH, which whoever starts us may set. */
const programFolders = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'] as const;

/** The whole environment of every program that we start on the host. */
export const hostEnvironment = { PATH: programFolders.join(':'), LC_ALL: 'C' } as const;

const maxOutputBytes = 64 * 1024;

export function findProgram(name: string): string | undefined {
  return programFolders.map((folder) => join(folder, name)).find(isExecutable);
}

export function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/**
 * Run a program for its output. At the deadline it and what it started are killed by process group: a runtime was seen to
 * spin for ever and ignore SIGTERM, and the child of a script would otherwise live on and hold the pipe open.
 *
 * @returns its stdout, at most 64 KiB of it.
 * @throws GloveboxError with `code` when it cannot be started, fails, or passes the deadline.
 */
export function runProgram(
  path: string,
  args: readonly string[],
  deadlineMs: number,
  code: ErrorCode,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(path, args, {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { ...hostEnvironment },
      cwd: '/',
      detached: true,
    });
    let output = '';
    const settle = (problem: string | undefined, cause?: unknown): void => {
      clearTimeout(timer);
      child.stdout.destroy();
      if (problem === undefined) resolve(output);
      else reject(new GloveboxError(code, { message: `${path} ${args[0] ?? ''} ${problem}.`, cause }));
    };
    const killGroup = (): void => {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
      } catch {
        // The group is empty.
      }
    };
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      killGroup();
    }, deadlineMs);
    child.stdout.setEncoding('utf8');
    child.stdout.on('error', () => {});
    child.stdout.on('data', (chunk: string) => {
      if (output.length < maxOutputBytes) output += chunk;
    });
    child.once('error', (error) => settle(`cannot be started (${errnoOf(error)})`, error));
    child.once('exit', (exitCode, signal) => {
      if (late) settle(`did not answer within ${deadlineMs} ms`);
      else if (exitCode === 0) drain(child.stdout, () => settle(undefined));
      else settle(`ended with ${exitCode ?? signal}`);
    });
  });
}

/** What was written before the exit is in the pipe still; whoever else holds it open is not waited for. */
function drain(stdout: NodeJS.ReadableStream & { readableEnded?: boolean }, done: () => void): void {
  if (stdout.readableEnded) {
    done();
    return;
  }
  const timer = setTimeout(done, 200);
  stdout.once('end', () => {
    clearTimeout(timer);
    done();
  });
}
