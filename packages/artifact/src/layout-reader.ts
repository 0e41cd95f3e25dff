import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { afterTarEntry, readTarHeader, type TarEntry } from './tar.ts';

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

/** Entries that are looked at in a tar before it is given up. */
const maxEntries = 100_000;

/**
 * Open a layout: a directory, or a tar of one (not compressed).
 *
 * Of a tar only the headers are read here, one after the other. A name that occurs twice is refused, as is whatever could
 * make another reader see other files in it: links, sparse files, pax headers that rename or resize.
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
    const entries = await readEntries(handle);
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

async function readEntries(file: FileHandle): Promise<Map<string, TarEntry>> {
  const { size } = await file.stat();
  const entries = new Map<string, TarEntry>();
  let at = 0;
  for (let count = 0; at < size; count++) {
    if (count === maxEntries) throw unreadable(`it has more than ${maxEntries} entries`);
    const entry = readTarHeader(await readAt(file, at, 512), at);
    if (typeof entry === 'string') throw unreadable(entry);
    if (entry === undefined) break;
    at = afterTarEntry(entry);
    if (at > size) throw unreadable('it is cut short');
    if (entry.type === 'x' || entry.type === 'g')
      checkPax(await readAt(file, entry.start, Math.min(entry.sizeBytes, 65_536)));
    else if (entry.type === '0' || entry.type === '') {
      const name = entry.unsafePath.replace(/^\.\//, '');
      if (entries.has(name)) throw unreadable('a name occurs twice');
      entries.set(name, entry);
    } else if (entry.type !== '5') throw unreadable('it holds something that is neither a file nor a directory');
  }
  if (entries.size === 0) throw unreadable('it is not a tar');
  return entries;
}

/** Times and owners are nothing to us. A record that says another name or size is something to other readers. */
function checkPax(bytes: Buffer): void {
  if (/(?:^|\n)\d+ (?:path|size|linkpath|GNU\.sparse[^=\n]*)=/.test(bytes.toString('latin1'))) {
    throw unreadable('a pax header changes a name or a size');
  }
}

const tooLarge = (name: string, maxBytes: number): GloveboxError =>
  unreadable(`${name} has more than ${maxBytes} bytes`);

export const unreadable = (reason: string, cause?: unknown): GloveboxError =>
  new GloveboxError('ARTIFACT_UNREADABLE', { message: `This is not an artifact: ${reason}.`, cause });
