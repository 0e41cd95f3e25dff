import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { imageDigest } from './image-config.ts';
import { corrupted, type LayerRecord, layerDigest } from './layer-tar.ts';

/**
 * Compute an image's digest from what is on disk, every byte of it, and look for files that are in no layer.
 *
 * @throws GloveboxError `IMAGE_CORRUPTED` naming the first thing that does not fit.
 */
export async function verifyImage(dir: string, digest: string): Promise<void> {
  const config = await readFile(join(dir, 'config.json')).catch((cause: unknown) => {
    throw unreadable('config.json', cause);
  });
  if (imageDigest(config) !== digest) {
    throw new GloveboxError('IMAGE_CORRUPTED', { message: `The config of image ${digest} has changed.` });
  }
  const { rootfs } = JSON.parse(config.toString('utf8')) as { rootfs: { diff_ids: string[] } };
  const layers = await readLayers(dir);
  const root = join(dir, 'rootfs');
  for (const [i, diffId] of rootfs.diff_ids.entries()) {
    if ((await layerDigest(root, layers[i] ?? [])) !== diffId) {
      throw new GloveboxError('IMAGE_CORRUPTED', { message: `Layer ${i + 1} of image ${digest} has changed.` });
    }
  }
  await refuseStrangers(root, new Set(layers.flatMap((layer) => layer.map(({ path }) => path))));
}

/** What the records say is checked against the digests, so a changed record cannot hide a changed file. */
async function readLayers(dir: string): Promise<LayerRecord[]> {
  try {
    return JSON.parse(await readFile(join(dir, 'layers.json'), 'utf8')) as LayerRecord[];
  } catch (cause) {
    throw unreadable('layers.json', cause);
  }
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

const unreadable = (name: string, cause: unknown): GloveboxError =>
  new GloveboxError('IMAGE_CORRUPTED', { message: `${name} of the image cannot be read.`, cause });
