import { GloveboxError } from '@glovebox/contract';

/** What went wrong with a file while images were made, as a typed error. What is no failure of the file system comes back as it is. */
export function asBuildError(thrown: unknown, dir: string): unknown {
  const { code, syscall, message } = (thrown ?? {}) as Partial<NodeJS.ErrnoException>;
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new GloveboxError('DISK_FULL', { message: `No space left in ${dir}.`, cause: thrown });
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
    case 'ENOTDIR':
    case 'ELOOP':
      return new GloveboxError('DATA_DIR_UNUSABLE', {
        message: `Images cannot be kept in ${dir}: ${message}.`,
        cause: thrown,
      });
    default:
      if (syscall === undefined || message === undefined) return thrown;
      return new GloveboxError('IMAGE_BUILD_FAILED', {
        message: `The images could not be built: ${message}.`,
        cause: thrown,
      });
  }
}
