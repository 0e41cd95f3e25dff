import { execFileSync } from 'node:child_process';

/** Make a named pipe; Node.js has no call for it. @returns its path. */
export function mkfifoSync(path: string): string {
  execFileSync('mkfifo', [path]);
  return path;
}
