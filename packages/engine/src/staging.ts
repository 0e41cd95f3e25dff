import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { judgeProcess, markOwnProcess, type ProcessVerdict } from '@glovebox/cell/process-mark';

const pattern = /^([0-9a-f]{8}-[0-9a-f-]{27})\.(\d+)\.(\d+)\.(\d+)\.[0-9a-f]{16}$/;

/**
 * `<boot id>.<pid namespace>.<pid>.<start ticks>.<random>` for something half-made: whoever finds it can tell whether its
 * maker still lives.
 */
export function stagedName(): string {
  const { bootId, pidNamespace, pid, startTicks } = markOwnProcess();
  return [bootId, pidNamespace, pid, startTicks, randomBytes(8).toString('hex')].join('.');
}

/** What is known of the process that made a staged name, whole. Of any other text nothing is. */
export function judgeMaker(name: string): ProcessVerdict {
  const match = pattern.exec(name);
  if (match === null) return 'unknown';
  const [, bootId = '', pidNamespace = '', pid, startTicks = ''] = match;
  return judgeProcess({ bootId, pidNamespace, pid: Number(pid), startTicks });
}

/** Whether a staged name, whole, is that of a process that is dead by positive observation. Any other text is not. */
export const isAbandoned = (name: string): boolean => judgeMaker(name) === 'dead';

/**
 * Remove from a directory what dead makers left half-made. What belongs to living ones or to ones that cannot be judged
 * here, what is named otherwise and what cannot be removed stays; a directory that is not there has nothing.
 *
 * @param prefix of the names; what comes after it is a staged name, whole.
 */
export function removeAbandoned(dir: string, prefix = ''): void {
  let names: string[];
  try {
    names = readdirSync(dir);
  } catch {
    return;
  }
  for (const name of names) {
    if (!name.startsWith(prefix) || !isAbandoned(name.slice(prefix.length))) continue;
    try {
      rmSync(join(dir, name), { recursive: true, force: true });
    } catch {
      // Another time.
    }
  }
}
