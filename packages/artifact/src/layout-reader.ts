import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { readLayoutTar } from './layout-tar.ts';

/** The files of an OCI image layout. Nothing in them is to be believed. */
export interface LayoutReader {
  /**
   * @param path in the layout, with `/`.
   * @returns its bytes; undefined where there is no such file.
   * @throws GloveboxError `ARTIFACT_UNREADABLE` where there is something else, or more than `maxBytes`.
   */
  read(path: string, maxBytes: number): Promise<Uint8Array | undefined>;
  close(): Promise<void>;
}

/**
 * Open a layout: a directory, or a tar of one (not compressed), in which no other reader sees other files; see
 * readLayoutTar.
 *
 * @throws GloveboxError `ARTIFACT_UNREADABLE`; `NOT_FOUND` where there is nothing of that name.
 */
export async function openLayout(path: string): Promise<LayoutReader> {
  const handle = await openPlain(path);
  if (handle === 'directory') {
    return {
      async read(name, maxBytes) {
        const file = await openPlain(join(path, name)).catch((error: unknown) => {
          if (GloveboxError.is(error, 'NOT_FOUND')) return undefined;
          throw error;
        });
        if (file === 'directory') throw unreadable(`${name} is a directory`);
        return file && readWhole(file, name, maxBytes).finally(() => file.close());
      },
      close: async () => {},
    };
  }
  if (handle === undefined) throw unreadable(`${path} is neither a directory nor a file`);
  try {
    const { size } = await handle.stat();
    const entries = await readLayoutTar((at, sizeBytes) => readAt(handle, at, sizeBytes), size);
    if (typeof entries === 'string') throw unreadable(entries);
    return {
      async read(name, maxBytes) {
        const entry = entries.get(name);
        if (entry === undefined) return undefined;
        if (entry.sizeBytes > maxBytes) throw tooLarge(name, maxBytes);
        return readAt(handle, entry.start, entry.sizeBytes);
      },
      close: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** @returns undefined for what is neither a directory nor a plain file. */
async function openPlain(path: string): Promise<FileHandle | 'directory' | undefined> {
  try {
    // What is given by name may be a link; in a hostile layout one only leads to bytes that have another digest.
    const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = await handle.stat();
    if (found.isFile()) return handle;
    await handle.close();
    return found.isDirectory() ? 'directory' : undefined;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOENT' || code === 'ENOTDIR') {
      throw new GloveboxError('NOT_FOUND', { message: `There is no ${path}.`, cause: error });
    }
    throw unreadable(`${path} cannot be read (${code ?? String(error)})`, error);
  }
}

async function readWhole(file: FileHandle, name: string, maxBytes: number): Promise<Uint8Array> {
  const { size } = await file.stat();
  if (size > maxBytes) throw tooLarge(name, maxBytes);
  return readAt(file, 0, size);
}

async function readAt(file: FileHandle, start: number, sizeBytes: number): Promise<Buffer> {
  const bytes = Buffer.alloc(sizeBytes);
  let length = 0;
  while (length < sizeBytes) {
    const { bytesRead } = await file.read(bytes, length, sizeBytes - length, start + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

const tooLarge = (name: string, maxBytes: number): GloveboxError =>
  unreadable(`${name} has more than ${maxBytes} bytes`);

export const unreadable = (reason: string, cause?: unknown): GloveboxError =>
  new GloveboxError('ARTIFACT_UNREADABLE', { message: `This is not an artifact: ${reason}.`, cause });
