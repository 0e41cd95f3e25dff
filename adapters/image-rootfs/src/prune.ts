import { readdir, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * How long an image stays after another has taken its place. A cell lives half an hour at most, so a day is long enough
 * for every cell that was booted from it.
 */
const keepMs = 24 * 60 * 60_000;

const imageName = /^[0-9a-f]{64}$/;

/** Note that an image is no longer current: from now on its time runs. */
export async function retireImage(dir: string, digest: string): Promise<void> {
  const now = new Date();
  await utimes(join(dir, digest.slice('sha256:'.length)), now, now).catch(() => {});
}

/** Remove images that have been out of use for a day. @param current digests that stay whatever their age. */
export async function removeOldImages(dir: string, current: string[]): Promise<void> {
  for (const name of await readdir(dir)) {
    if (!imageName.test(name) || current.includes(`sha256:${name}`)) continue;
    const stats = await stat(join(dir, name)).catch(() => undefined);
    if (stats !== undefined && stats.mtimeMs < Date.now() - keepMs) {
      await rm(join(dir, name), { recursive: true, force: true });
    }
  }
}
