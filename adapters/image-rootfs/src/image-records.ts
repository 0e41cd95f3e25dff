import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { imageDigest } from './image-config.ts';
import type { LayerRecord } from './layer-tar.ts';

/** What is kept beside an image's files: what it has to be, and where to look for that. */
export interface ImageRecords {
  /** The OCI config, whose digest is the image's. */
  config: Uint8Array;
  /** Bottom first. A changed record cannot hide a changed file: what it leads to must have the digest. */
  layers: { diffId: string; record: LayerRecord }[];
}

/** @throws GloveboxError `IMAGE_CORRUPTED` where they cannot be read, or the config is not that of `digest`. */
export async function readImageRecords(imageDir: string, digest: string): Promise<ImageRecords> {
  const config = await readFile(join(imageDir, 'config.json')).catch((cause: unknown) => {
    throw unreadable('config.json', cause);
  });
  if (imageDigest(config) !== digest) {
    throw new GloveboxError('IMAGE_CORRUPTED', { message: `The config of image ${digest} has changed.` });
  }
  const { rootfs } = JSON.parse(config.toString('utf8')) as { rootfs: { diff_ids: string[] } };
  const records = await readLayers(imageDir);
  return { config, layers: rootfs.diff_ids.map((diffId, i) => ({ diffId, record: records[i] ?? [] })) };
}

async function readLayers(imageDir: string): Promise<LayerRecord[]> {
  try {
    return JSON.parse(await readFile(join(imageDir, 'layers.json'), 'utf8')) as LayerRecord[];
  } catch (cause) {
    throw unreadable('layers.json', cause);
  }
}

export const changedLayer = (index: number, digest: string): GloveboxError =>
  new GloveboxError('IMAGE_CORRUPTED', { message: `Layer ${index + 1} of image ${digest} has changed.` });

const unreadable = (name: string, cause: unknown): GloveboxError =>
  new GloveboxError('IMAGE_CORRUPTED', { message: `${name} of the image cannot be read.`, cause });
