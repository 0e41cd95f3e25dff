import { createHash } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stagedName } from '@glovebox/engine/staging';
import { verifyImage } from './verify.ts';

/** Seals by image directory that this process has seen or made itself. */
export type KnownSeals = Map<string, string>;

/**
 * Make sure that an image is what its digest says, without reading it: a *seal*, kept beside the image, is a digest of what
 * the kernel tells of each of its files (place, inode, size, time of the last change of content or of anything else). It is
 * made when every byte has been compared with the digest; where a file differs from it by anything, all are compared again.
 *
 * It cannot show what root does with the clock, or to the seal itself. Links are made and removed as images share files,
 * which changes a time too: then the bytes are read once more.
 *
 * @throws GloveboxError `IMAGE_CORRUPTED` naming the first thing that does not fit.
 */
export async function checkSeal(imageDir: string, digest: string, known: KnownSeals): Promise<void> {
  // Before the bytes: what changes while they are read does not get into the seal.
  const seal = sealOf(join(imageDir, 'rootfs'));
  if (known.get(imageDir) === seal) return;
  if (readSeal(imageDir) !== seal) {
    await verifyImage(imageDir, digest);
    await keepSeal(imageDir, seal);
  }
  known.set(imageDir, seal);
}

/** Synchronous on purpose, and by lstat: a link that was put there must not lead the walk over the host. */
function sealOf(root: string): string {
  const hash = createHash('sha256');
  const add = (path: string): void => {
    const { dev, ino, size, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true });
    hash.update(`${path.slice(root.length)}\0${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}\n`);
  };
  const walk = (directory: string): void => {
    add(directory);
    for (const entry of readdirSync(directory, { withFileTypes: true })) {
      const path = join(directory, entry.name);
      if (entry.isDirectory()) walk(path);
      else add(path);
    }
  };
  walk(root);
  return hash.digest('hex');
}

const fileOf = (imageDir: string): string => join(imageDir, 'seal');

function readSeal(imageDir: string): string | undefined {
  try {
    return readFileSync(fileOf(imageDir), 'utf8');
  } catch {
    return undefined;
  }
}

/** Without one the next process reads all bytes again, no more. */
async function keepSeal(imageDir: string, seal: string): Promise<void> {
  const staged = join(imageDir, stagedName());
  try {
    await writeFile(staged, seal, { flag: 'wx', mode: 0o600 });
    await rename(staged, fileOf(imageDir));
  } catch {
    await rm(staged, { force: true }).catch(() => {});
  }
}
