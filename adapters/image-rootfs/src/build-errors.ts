import { statfs } from 'node:fs/promises';
import { GloveboxError } from '@glovebox/contract';
import { asDiskError } from '@glovebox/engine/disk-errors';

/** What went wrong with a file while images were made, as a typed error. What is no failure of the file system comes back as it is. */
export function asBuildError(thrown: unknown, dir: string): unknown {
  const { syscall, message } = (thrown ?? {}) as Partial<NodeJS.ErrnoException>;
  const error = asDiskError(thrown, dir, `Images cannot be kept in ${dir}: ${message}.`);
  if (error !== thrown || syscall === undefined || message === undefined) return error;
  return new GloveboxError('IMAGE_BUILD_FAILED', {
    message: `The images could not be built: ${message}.`,
    cause: thrown,
  });
}

/**
 * Why a program of ours that works in `staging` failed: `DISK_FULL` where it says so, or where there is no room for anything;
 * else what `failed` makes of the first line that it wrote. A program that runs out of room may give some back as it ends.
 */
export async function programError(
  thrown: unknown,
  staging: string,
  failed: (reason: string) => GloveboxError,
): Promise<GloveboxError> {
  const { code, stderr = '', message } = thrown as Error & { code?: unknown; stderr?: string };
  const { bavail, bsize } = await statfs(staging);
  // The words of strerror(3) for ENOSPC, which Go and Node.js both pass on.
  const saysSo = code === 'ENOSPC' || /no space left on device/i.test(stderr);
  if (saysSo || bavail * bsize < 1024 * 1024)
    return new GloveboxError('DISK_FULL', { message: `No space left in ${staging}.`, cause: thrown });
  return failed(stderr.trim().split('\n')[0] || message);
}
