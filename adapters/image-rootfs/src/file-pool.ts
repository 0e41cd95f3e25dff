import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import {
  chmod,
  copyFile,
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';

export type FileContent = { bytes: Uint8Array } | { source: string; expectedSha256?: string };

export interface PooledFile {
  /** In the pool; to be hard-linked, never written. */
  path: string;
  sha256: string;
  sizeBytes: number;
}

/**
 * Files by content and mode, each once on disk, however many images hold it: images get hard links.
 *
 * What goes into the pool is always a copy, owned by this user, not writable and synced, because a link to a source
 * would let whoever can write the source write the image. A file of the right name that is there is taken as it is:
 * the digests of the layers, which are computed later, show whether it is sound.
 */
export interface FilePool {
  put(content: FileContent, mode: number): Promise<PooledFile>;
}

/**
 * @param staging where files are written before they are renamed; on the same file system.
 */
export function openFilePool(dir: string, staging: string): FilePool {
  const pathOf = (sha256: string, mode: number): string => join(dir, `${sha256}.${mode.toString(8)}`);

  async function existing(sha256: string, mode: number): Promise<PooledFile | undefined> {
    const path = pathOf(sha256, mode);
    const stats = await lstat(path).catch(() => undefined);
    return stats?.isFile() ? { path, sha256, sizeBytes: stats.size } : undefined;
  }

  async function put(content: FileContent, mode: number): Promise<PooledFile> {
    if ('bytes' in content) {
      const there = await existing(createHash('sha256').update(content.bytes).digest('hex'), mode);
      if (there?.sizeBytes === content.bytes.byteLength) return there;
    } else if (content.expectedSha256 !== undefined) {
      const there = await existing(content.expectedSha256, mode);
      if (there !== undefined) return there;
    }
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const staged = join(staging, randomBytes(8).toString('hex'));
    try {
      const { sha256, sizeBytes } = await write(staged, content, mode);
      const path = pathOf(sha256, mode);
      // The first of two builders wins, so that the images of both share one file.
      await link(staged, path).catch(ignoreExisting);
      return { path, sha256, sizeBytes };
    } finally {
      await rm(staged, { force: true });
    }
  }

  return { put };
}

/** Put the files of one pool that images have linked in the place of those of another; the rest stay where they are. */
export async function moveUsedFiles(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const name of await readdir(from)) {
    if ((await lstat(join(from, name))).nlink > 1) await rename(join(from, name), join(to, name));
  }
}

/** Remove what no image has linked for `idleMs`. */
export async function removeUnusedFiles(dir: string, idleMs: number): Promise<void> {
  for (const name of await readdir(dir).catch(() => [])) {
    const stats = await lstat(join(dir, name)).catch(() => undefined);
    if (stats?.nlink === 1 && stats.ctimeMs < Date.now() - idleMs) await rm(join(dir, name), { force: true });
  }
}

/** @returns the digest of what was written, not of the source, which somebody may be changing. */
async function write(path: string, content: FileContent, mode: number): Promise<{ sha256: string; sizeBytes: number }> {
  if ('bytes' in content) await writeFile(path, content.bytes, { flag: 'wx', mode: 0o600 });
  else await copyFile(content.source, path, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  await chmod(path, mode);
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    const hash = createHash('sha256');
    let sizeBytes = 0;
    for await (const chunk of fileChunks(file)) {
      hash.update(chunk);
      sizeBytes += chunk.byteLength;
    }
    await file.utimes(0, 0);
    await file.sync();
    return { sha256: hash.digest('hex'), sizeBytes };
  } finally {
    await file.close();
  }
}

/** The bytes of an open file from its start. Each chunk is valid until the next is asked for. */
export async function* fileChunks(file: FileHandle): AsyncGenerator<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(1024 * 1024);
  for (let position = 0; ; ) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
