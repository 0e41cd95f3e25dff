import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { GloveboxError } from '@glovebox/contract';

/**
 * Open a file that somebody handed over. What the name leads to is looked at when it is open, so it cannot be another thing
 * by the time that it is read; a pipe with nobody at its other end does not hold us up.
 *
 * @returns `directory` for one.
 * @throws GloveboxError `INPUT_UNREADABLE` with this hint, also for what is neither a file nor a directory.
 */
export async function openUnsafeFile(path: string, hint: string): Promise<FileHandle | 'directory'> {
  const unreadable = (why: string, cause?: unknown): GloveboxError =>
    new GloveboxError('INPUT_UNREADABLE', { message: `${path} ${why}.`, hint, place: { file: path }, cause });
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((cause: unknown) => {
    throw unreadable('cannot be read', cause);
  });
  const found = await file.stat();
  if (found.isFile()) return file;
  await file.close();
  if (found.isDirectory()) return 'directory';
  throw unreadable('is not a file');
}

/** The first bytes of a file, at most so many. What is added to it meanwhile makes no difference. */
export async function readStart(file: FileHandle, maxBytes: number): Promise<Buffer> {
  const { size } = await file.stat();
  const bytes = Buffer.alloc(Math.min(size, maxBytes));
  let length = 0;
  while (length < bytes.length) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return bytes.subarray(0, length);
}

const chunkBytes = 64 * 1024;

/**
 * The lines of a file from its start, without their ends, as UTF-8.
 *
 * @param tooLong what is thrown for a line of more than `maxLineBytes`.
 */
export async function* readLines(
  file: FileHandle,
  maxLineBytes: number,
  tooLong: (line: number) => Error,
): AsyncGenerator<string> {
  let parts: Buffer[] = [];
  let length = 0;
  let line = 1;
  const add = (part: Buffer): void => {
    length += part.length;
    if (length > maxLineBytes) throw tooLong(line);
    parts.push(part);
  };
  const take = (): string => {
    const text = Buffer.concat(parts).toString('utf8');
    parts = [];
    length = 0;
    line++;
    return text;
  };
  for (let at = 0; ; ) {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    const { bytesRead } = await file.read(chunk, 0, chunkBytes, at);
    if (bytesRead === 0) break;
    at += bytesRead;
    let start = 0;
    for (let end = chunk.indexOf(0x0a); end !== -1 && end < bytesRead; end = chunk.indexOf(0x0a, start)) {
      add(chunk.subarray(start, end));
      yield take();
      start = end + 1;
    }
    add(chunk.subarray(start, bytesRead));
  }
  if (length > 0) yield take();
}
