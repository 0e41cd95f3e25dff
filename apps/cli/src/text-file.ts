import { open } from 'node:fs/promises';
import { type GloveboxError, gatherBody } from '@glovebox/contract';

/**
 * The text of a file, or of standard input (`-`): UTF-8, of at most `maxBytes`; longer ones are not read to their end.
 *
 * @param refuse makes the error of which `why` is the end of a sentence about the file.
 */
export async function readTextFile(
  path: string,
  maxBytes: number,
  refuse: (why: string, cause?: unknown) => GloveboxError,
): Promise<string> {
  const bytes = await readBytes(path, maxBytes).catch((error: unknown) => {
    throw refuse(`cannot be read: ${(error as Error).message}`, error);
  });
  if (bytes === undefined) throw refuse(`is over ${maxBytes} bytes`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw refuse('is not UTF-8', error);
  }
}

/** @returns undefined for more than that. */
async function readBytes(path: string, maxBytes: number): Promise<Buffer | undefined> {
  if (path === '-') return gatherBody(process.stdin, maxBytes);
  const file = await open(path, 'r');
  try {
    return await gatherBody(file.createReadStream({ autoClose: false }), maxBytes);
  } finally {
    await file.close();
  }
}
