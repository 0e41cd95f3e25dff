import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { isDead, ownIdentity } from '@glovebox/engine/host';

export interface StagedFile {
  path: string;
  handle: FileHandle;
}

/** `<boot id>.<pid>.<start ticks>.<random>`: whoever finds it can tell whether its writer still lives. */
const stagedName = /^([0-9a-f-]{36})\.(\d+)\.(\d+)\.[0-9a-f]{16}$/;

/** A new file that nobody else can have opened, named after this process. The caller closes it and renames or removes it. */
export async function stage(dir: string): Promise<StagedFile> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const { bootId, pid, startTicks } = ownIdentity('');
  const path = join(dir, `${bootId}.${pid}.${startTicks}.${randomBytes(8).toString('hex')}`);
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  return { path, handle: await open(path, flags, 0o600) };
}

/** Remove what killed writers left. Files of living writers, names that are not ours, and what cannot be removed stay. */
export async function removeLeftovers(dir: string): Promise<void> {
  for (const name of await readdir(dir).catch(() => [])) {
    const [, bootId, pid, startTicks] = stagedName.exec(name) ?? [];
    if (bootId === undefined || pid === undefined || startTicks === undefined) continue;
    if (isDead({ instance: '', bootId, pid: Number(pid), startTicks })) {
      await rm(join(dir, name), { force: true }).catch(() => {});
    }
  }
}
