import { link, open, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import { removeAbandoned, stagedName } from '@glovebox/engine/staging';

/**
 * A name beside a target, for what is to become it whole or not at all. What dead processes left beside the same target
 * is removed.
 */
export function stageBeside(target: string): string {
  const prefix = `.${basename(target)}.`;
  removeAbandoned(dirname(target), prefix);
  return join(dirname(target), `${prefix}${stagedName()}`);
}

/**
 * Write a file that is not there yet, whole or not at all, synced. The source is read to its end or left, whatever happens.
 *
 * @throws GloveboxError `ALREADY_EXISTS`, `TARGET_UNUSABLE`; what the source throws, and a full disk, come as they are.
 */
export async function writeNewFile(
  target: string,
  source: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  mode: number,
): Promise<void> {
  const staged = stageBeside(target);
  const file = await open(staged, 'wx', mode).catch(async (error: unknown) => {
    // It may hold a file open of which nothing was read.
    if (Symbol.asyncIterator in source) await source[Symbol.asyncIterator]().return?.();
    throw targetError(error, target);
  });
  try {
    try {
      for await (const chunk of source) await file.writeFile(chunk);
      await file.sync();
    } finally {
      await file.close();
    }
    await publish(staged, target);
  } catch (error) {
    throw targetError(error, target);
  } finally {
    await rm(staged, { force: true });
  }
}

/** Unlike a rename, a link takes nobody's place. Some file systems have none. */
async function publish(staged: string, target: string): Promise<void> {
  try {
    await link(staged, target);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'ENOSYS') throw error;
    await rename(staged, target);
  }
}

/** What a failed change of a target that a person named means. A full disk, and what is no failure of the file system, stays as it is. */
export function targetError(error: unknown, target: string): unknown {
  if (error instanceof GloveboxError) return error;
  const { code, syscall, message } = (error ?? {}) as NodeJS.ErrnoException;
  if (syscall === undefined || code === 'ENOSPC' || code === 'EDQUOT') return error;
  const place = { file: target };
  if (code === 'EEXIST' || code === 'ENOTEMPTY')
    return new GloveboxError('ALREADY_EXISTS', {
      message: `${target} is already there; nothing was changed.`,
      place,
      cause: error,
    });
  return new GloveboxError('TARGET_UNUSABLE', {
    message: `${target} cannot be written: ${message}.`,
    place,
    cause: error,
  });
}
