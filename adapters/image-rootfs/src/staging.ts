import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDead, ownIdentity } from '@glovebox/engine/host';

/** `<boot id>.<pid>.<start ticks>.<random>`: whoever finds it can tell whether its builder still lives. */
const stagedName = /^([0-9a-f-]{36})\.(\d+)\.(\d+)\.[0-9a-f]{16}$/;

/** A new empty directory, named after this process. The caller removes it. */
export async function makeStaging(dir: string): Promise<string> {
  const { bootId, pid, startTicks } = ownIdentity('');
  const path = join(dir, `${bootId}.${pid}.${startTicks}.${randomBytes(8).toString('hex')}`);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  await mkdir(path, { mode: 0o700 });
  return path;
}

/** Remove what killed builders left. Directories of living builders, and names that are not ours, stay. */
export async function removeLeftovers(dir: string): Promise<void> {
  for (const name of await readdir(dir).catch(() => [])) {
    const [, bootId, pid, startTicks] = stagedName.exec(name) ?? [];
    if (bootId === undefined || pid === undefined || startTicks === undefined) continue;
    if (isDead({ instance: '', bootId, pid: Number(pid), startTicks })) {
      await rm(join(dir, name), { recursive: true, force: true }).catch(() => {});
    }
  }
}
