import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { GloveboxError, idPatterns } from '@glovebox/contract';
import type { BlobStore } from '@glovebox/engine';
import { asDiskError } from '@glovebox/engine/disk-errors';
import { removeAbandoned } from '@glovebox/engine/staging';
import { stage } from './staging.ts';

const chunkBytes = 256 * 1024;

/**
 * Blobs as files `<dir>/sha256/<first two hex digits>/<hex digits>`, mode 0600 in directories of mode 0700.
 *
 * A blob is there in full or not at all, also after a kill or a power cut: it is written beside, synced and renamed.
 * Storing bytes that are there already replaces them by the same bytes, which mends a damaged file. Several processes
 * may use one directory. The first `put` removes what killed writers left.
 */
export function createBlobStore(dir: string): BlobStore {
  const staging = join(dir, 'staging');
  const pathOf = (hex: string): string => join(dir, 'sha256', hex.slice(0, 2), hex);
  let cleaned = false;

  return {
    async put(source, maxBytes) {
      if (!cleaned) removeAbandoned(staging);
      cleaned = true;
      const { path: staged, handle } = await stage(staging).catch((error: unknown) => {
        throw unusable(error, dir);
      });
      try {
        const { hex, sizeBytes } = await writeAll(handle, source, maxBytes, dir).finally(() => handle.close());
        await publish(staged, pathOf(hex), dir);
        return { digest: `sha256:${hex}`, sizeBytes };
      } catch (error) {
        await rm(staged, { force: true });
        throw error;
      }
    },

    async *read(digest) {
      const hex = hexOf(digest);
      if (hex === undefined)
        throw new GloveboxError('NOT_FOUND', { message: `${digest} is not a digest of a stored file.` });
      const handle = await openBlob(pathOf(hex), digest);
      try {
        yield* verified(handle, hex, digest);
      } finally {
        await handle.close();
      }
    },
  };
}

/** Only a well-formed digest ever becomes a path: `../` and absolute names end here. */
const hexOf = (digest: string): string | undefined =>
  idPatterns.digest.test(digest) ? digest.slice('sha256:'.length) : undefined;

async function writeAll(
  handle: FileHandle,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
  dir: string,
): Promise<{ hex: string; sizeBytes: number }> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  for await (const chunk of source) {
    sizeBytes += chunk.byteLength;
    if (sizeBytes > maxBytes) {
      throw new GloveboxError('FILES_LIMIT', { message: `The file is longer than the ${maxBytes} bytes it may have.` });
    }
    await writeFully(handle, chunk, dir);
    hash.update(chunk);
  }
  await onDisk(dir, () => handle.sync());
  return { hex: hash.digest('hex'), sizeBytes };
}

async function writeFully(handle: FileHandle, chunk: Uint8Array, dir: string): Promise<void> {
  for (let offset = 0; offset < chunk.byteLength; ) {
    const { bytesWritten } = await onDisk(dir, () => handle.write(chunk, offset));
    offset += bytesWritten;
  }
}

async function publish(staged: string, target: string, dir: string): Promise<void> {
  await onDisk(dir, async () => {
    const made = await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await rename(staged, target);
    await syncDirectory(dirname(target));
    if (made === undefined) return;
    // A new directory survives a power cut once the ones that hold it are synced too.
    for (const holder of [join(dir, 'sha256'), dir, dirname(dir)]) await syncDirectory(holder);
  });
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  await handle.sync().finally(() => handle.close());
}

async function onDisk<T>(dir: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw unusable(error, dir);
  }
}

/** Refuses links (they could lead to any file of the host) and anything that is not a regular file (a pipe would block for ever). */
async function openBlob(path: string, digest: string): Promise<FileHandle> {
  let handle: FileHandle;
  try {
    handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT') throw new GloveboxError('NOT_FOUND', { message: `There is no stored file ${digest}.` });
    if (code === 'ELOOP' || code === 'ENXIO') throw corrupted(digest, 'it is not a regular file', error);
    throw unusable(error, path);
  }
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw corrupted(digest, 'it is not a regular file');
}

/** Holds each chunk back until the next is read, so that no reader ever has all the bytes of a damaged blob. */
async function* verified(handle: FileHandle, hex: string, digest: string): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let held: Uint8Array | undefined;
  for (;;) {
    const { buffer, bytesRead } = await handle
      .read(Buffer.allocUnsafeSlow(chunkBytes), 0, chunkBytes)
      .catch((error) => {
        throw corrupted(digest, 'it cannot be read', error);
      });
    if (bytesRead === 0) break;
    const chunk = buffer.subarray(0, bytesRead);
    hash.update(chunk);
    if (held !== undefined) yield held;
    held = chunk;
  }
  if (hash.digest('hex') !== hex) throw corrupted(digest, 'its bytes have changed');
  if (held !== undefined) yield held;
}

const corrupted = (digest: string, reason: string, cause?: unknown): GloveboxError =>
  new GloveboxError('BLOB_CORRUPTED', { message: `The stored file ${digest} is damaged: ${reason}.`, cause });

const unusable = (thrown: unknown, path: string): unknown =>
  asDiskError(thrown, path, `Files cannot be stored in ${path}.`);
