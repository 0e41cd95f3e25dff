import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { fileChunks } from './file-pool.ts';
import { tarBlockBytes, tarEnd, tarHeader, tarPadding } from './tar.ts';

/** What an image holds, as kept beside it. It says what to look at; only the digests in the image's config say what is right. */
export type LayerRecord = RecordedEntry[];
export type RecordedEntry =
  | { kind: 'directory'; path: string; mode: number }
  | { kind: 'file'; path: string; mode: number; sizeBytes: number; sha256: string };

/** The digest of a layer: sha256 of its canonical, uncompressed tar, made of what is on disk now. */
export async function layerDigest(rootfs: string, record: LayerRecord): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of layerTar(rootfs, record)) hash.update(chunk);
  return `sha256:${hash.digest('hex')}`;
}

/** How many bytes `layerTar` gives for a record. */
export function layerTarBytes(record: LayerRecord): number {
  const bytesOf = (entry: RecordedEntry): number =>
    tarBlockBytes + (entry.kind === 'file' ? entry.sizeBytes + tarPadding(entry.sizeBytes).length : 0);
  return record.reduce((total, entry) => total + bytesOf(entry), tarEnd.length);
}

/**
 * A layer as canonical tar, streamed. Each chunk is valid until the next is asked for.
 *
 * @throws GloveboxError `IMAGE_CORRUPTED` naming the first entry whose kind, mode, owner, size or bytes are not the recorded ones.
 */
export async function* layerTar(rootfs: string, record: LayerRecord): AsyncGenerator<Uint8Array> {
  for (const entry of record) {
    await checkEntry(rootfs, entry);
    yield tarHeader(entry);
    if (entry.kind === 'file') yield* fileBytes(rootfs, entry);
  }
  yield tarEnd;
}

async function checkEntry(rootfs: string, entry: RecordedEntry): Promise<void> {
  const stats = await lstat(join(rootfs, entry.path)).catch((error: unknown) => {
    throw corrupted(entry.path, 'it cannot be found', error);
  });
  const kindFits = entry.kind === 'directory' ? stats.isDirectory() : stats.isFile();
  if (!kindFits) throw corrupted(entry.path, `it is not a ${entry.kind}`);
  if ((stats.mode & 0o7777) !== entry.mode) throw corrupted(entry.path, 'its mode has changed');
  if (stats.uid !== process.geteuid?.()) throw corrupted(entry.path, 'its owner has changed');
  if (entry.kind === 'file' && stats.size !== entry.sizeBytes) throw corrupted(entry.path, 'its size has changed');
}

async function* fileBytes(rootfs: string, entry: RecordedEntry & { kind: 'file' }): AsyncGenerator<Uint8Array> {
  const file = await open(join(rootfs, entry.path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const hash = createHash('sha256');
    for await (const chunk of fileChunks(file)) {
      hash.update(chunk);
      yield chunk;
    }
    if (hash.digest('hex') !== entry.sha256) throw corrupted(entry.path, 'its bytes have changed');
    yield tarPadding(entry.sizeBytes);
  } finally {
    await file.close();
  }
}

export const corrupted = (path: string, reason: string, cause?: unknown): GloveboxError =>
  new GloveboxError('IMAGE_CORRUPTED', { message: `/${path} of the image is damaged: ${reason}.`, cause });
