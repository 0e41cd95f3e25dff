import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { changedLayer, readImageRecords } from './image-records.ts';
import { corrupted, layerDigest } from './layer-tar.ts';

/**
 * Compute an image's digest from what is on disk, every byte of it, and look for files that are in no layer.
 *
 * @throws GloveboxError `IMAGE_CORRUPTED` naming the first thing that does not fit.
 */
export async function verifyImage(dir: string, digest: string): Promise<void> {
  const { layers } = await readImageRecords(dir, digest);
  const root = join(dir, 'rootfs');
  for (const [i, { diffId, record }] of layers.entries()) {
    if ((await layerDigest(root, record)) !== diffId) throw changedLayer(i, digest);
  }
  await refuseStrangers(root, new Set(layers.flatMap(({ record }) => record.map(({ path }) => path))));
}

/**
 * A file that is in no layer is in no digest, and yet every cell would see it. Only real directories are entered: a link
 * would lead the walk over the host.
 */
async function refuseStrangers(root: string, known: Set<string>, below = ''): Promise<void> {
  for (const entry of await readdir(join(root, below), { withFileTypes: true })) {
    const path = join(below, entry.name);
    if (!known.has(path)) throw corrupted(path, 'it is not part of the image');
    if (entry.isDirectory()) await refuseStrangers(root, known, path);
  }
}
