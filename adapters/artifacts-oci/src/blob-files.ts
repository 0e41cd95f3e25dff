import { constants } from 'node:fs';
import { link, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ReadBlob } from '@glovebox/artifact';
import { GloveboxError, idPatterns } from '@glovebox/contract';
import { removeAbandoned, stagedName } from '@glovebox/engine/staging';
import { isMissing, isTaken } from './disk-errors.ts';
import { emptyIndex, encodeIndex, layoutMarker } from './referrer.ts';

export interface LayoutPaths {
  dir: string;
  marker: string;
  index: string;
  blobs: string;
  /** What is being written, and who is to replace the index next; no part of the layout. */
  staging: string;
  claims: string;
}

export function layoutPaths(dir: string): LayoutPaths {
  return {
    dir,
    marker: join(dir, 'oci-layout'),
    index: join(dir, 'index.json'),
    blobs: join(dir, 'blobs', 'sha256'),
    staging: join(dir, '.staging'),
    claims: join(dir, '.claims'),
  };
}

/** Make an empty layout where there is none, and remove what killed writers left. */
export async function prepareLayout(paths: LayoutPaths): Promise<void> {
  const made = await mkdir(paths.blobs, { recursive: true, mode: 0o700 });
  await mkdir(paths.staging, { recursive: true, mode: 0o700 });
  removeAbandoned(paths.staging);
  if (made === undefined && (await isFile(paths.marker))) return;
  await writeWhole(paths, paths.marker, layoutMarker);
  // Only for who made the directory, and never over one that another writer has put there meanwhile.
  if (made !== undefined) await writeWhole(paths, paths.index, encodeIndex(emptyIndex), link);
  for (const dir of [dirname(paths.blobs), paths.dir, dirname(paths.dir)]) await syncDirectory(dir);
}

/**
 * Write a file, whole or not at all. It lasts once its directory is synced.
 *
 * @param place puts it in the place of whatever has its name; `link` leaves alone what is there.
 */
export async function writeWhole(
  { staging }: LayoutPaths,
  path: string,
  bytes: Uint8Array,
  place: typeof rename = rename,
): Promise<void> {
  const staged = join(staging, stagedName());
  try {
    const handle = await open(staged, 'wx', 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await place(staged, path).catch((error: unknown) => {
      if (!isTaken(error)) throw error;
    });
  } finally {
    await rm(staged, { force: true });
  }
}

/** Write blobs that are not there, or not whole; they last when this returns. */
export async function writeBlobs(paths: LayoutPaths, blobs: ReadonlyMap<string, Uint8Array>): Promise<void> {
  const results = await Promise.allSettled(
    [...blobs].map(async ([digest, bytes]) => {
      const found = await readFileUpTo(blobPath(paths, digest), bytes.byteLength).catch(() => undefined);
      if (found === undefined || Buffer.compare(found, bytes) !== 0)
        await writeWhole(paths, blobPath(paths, digest), bytes);
    }),
  );
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  await syncDirectory(paths.blobs);
}

export function readBlob(paths: LayoutPaths): ReadBlob {
  return async (digest, maxBytes) => {
    try {
      return await readFileUpTo(blobPath(paths, digest), maxBytes);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw new GloveboxError('ARTIFACT_CORRUPTED', {
        message: `The blob ${digest} cannot be read.`,
        details: { blob: digest },
        cause: error,
      });
    }
  };
}

/** Only a well-formed digest ever becomes a path: `../` and absolute names end here. */
function blobPath({ blobs }: LayoutPaths, digest: string): string {
  if (!idPatterns.digest.test(digest)) throw new GloveboxError('INTERNAL', { message: 'that is not a digest' });
  return join(blobs, digest.slice('sha256:'.length));
}

/** Refuses links (they could lead to any file of the host) and anything that is not a regular file (a pipe would block). */
export async function readFileUpTo(path: string, maxBytes: number): Promise<Buffer> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw new Error(`${path} is not a regular file`);
    if (found.size > maxBytes) throw new Error(`${path} has more than ${maxBytes} bytes`);
    return await handle.readFile();
  } finally {
    await handle.close();
  }
}

export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  await handle.sync().finally(() => handle.close());
}

async function isFile(path: string): Promise<boolean> {
  return readFileUpTo(path, 1024).then(
    () => true,
    () => false,
  );
}
