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
