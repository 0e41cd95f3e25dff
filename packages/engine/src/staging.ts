import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isDead, ownIdentity } from './host.ts';

const pattern = /([0-9a-f]{8}-[0-9a-f-]{27})\.(\d+)\.(\d+)\.[0-9a-f]{16}$/;

/** `<boot id>.<pid>.<start ticks>.<random>` for something half-made: whoever finds it can tell whether its maker still lives. */
export function stagedName(): string {
  const { bootId, pid, startTicks } = ownIdentity('');
  return `${bootId}.${pid}.${startTicks}.${randomBytes(8).toString('hex')}`;
}

/**
 * Remove from a directory what dead makers left half-made. What belongs to living ones, what is named otherwise and what
 * cannot be removed stays; a directory that is not there has nothing.
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
    const match = name.startsWith(prefix) ? pattern.exec(name) : null;
    if (match === null || match.index !== prefix.length) continue;
    const [, bootId = '', pid, startTicks = ''] = match;
    if (!isDead({ instance: '', bootId, pid: Number(pid), startTicks })) continue;
    try {
      rmSync(join(dir, name), { recursive: true, force: true });
    } catch {
      // Another time.
    }
  }
}
