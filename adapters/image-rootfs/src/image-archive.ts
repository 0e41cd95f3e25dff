import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { changedLayer, readImageRecords } from './image-records.ts';
import { type LayerRecord, layerTar, layerTarBytes } from './layer-tar.ts';
import { tarEnd, tarHeader, tarPadding } from './tar.ts';

/**
 * An image as engines take it (`POST /images/load`): a tar of its config, its layers and `manifest.json`, without a name for
 * it. The engine then knows it by the digest of the config, which is the image's.
 *
 * It is made while it is read, from what is on disk now, and never lies anywhere as a whole. Each chunk is the reader's to
 * keep, and none is empty: in a chunked body that would be the end.
 *
 * @param imageDir the directory of an image in a store, which bears the hex of its digest.
 * @throws GloveboxError `IMAGE_CORRUPTED`, while it is read, before the end of the layer that is not what its digest says:
 *   what was read until then is no archive.
 */
export async function* imageArchive(imageDir: string): AsyncGenerator<Uint8Array> {
  for await (const chunk of members(imageDir)) if (chunk.length > 0) yield chunk;
}

async function* members(imageDir: string): AsyncGenerator<Uint8Array> {
  const hex = basename(imageDir);
  const digest = `sha256:${hex}`;
  const { config, layers } = await readImageRecords(imageDir, digest);
  const configName = `${hex}.json`;
  yield* member(configName, config);
  for (const [i, { diffId, record }] of layers.entries()) {
    const sizeBytes = layerTarBytes(record);
    yield header(layerName(diffId), sizeBytes);
    yield* layerBytes(join(imageDir, 'rootfs'), record, diffId, () => changedLayer(i, digest));
    yield tarPadding(sizeBytes);
  }
  const manifest = [{ Config: configName, RepoTags: null, Layers: layers.map(({ diffId }) => layerName(diffId)) }];
  yield* member('manifest.json', Buffer.from(JSON.stringify(manifest)));
  yield tarEnd;
}

/** The last chunk is held back until all are known to be right. */
async function* layerBytes(
  rootfs: string,
  record: LayerRecord,
  diffId: string,
  changed: () => Error,
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let held: Uint8Array | undefined;
  for await (const chunk of layerTar(rootfs, record)) {
    hash.update(chunk);
    if (held !== undefined) yield held;
    held = Uint8Array.from(chunk);
  }
  if (`sha256:${hash.digest('hex')}` !== diffId) throw changed();
  if (held !== undefined) yield held;
}

const layerName = (diffId: string): string => `${diffId.slice('sha256:'.length)}.tar`;

const header = (path: string, sizeBytes: number): Uint8Array =>
  tarHeader({ kind: 'file', path, mode: 0o444, sizeBytes });

function* member(path: string, bytes: Uint8Array): Generator<Uint8Array> {
  yield header(path, bytes.length);
  yield bytes;
  yield tarPadding(bytes.length);
}
