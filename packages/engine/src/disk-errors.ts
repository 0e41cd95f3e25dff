import { GloveboxError } from '@glovebox/contract';

/**
 * A failure of the file system as a typed error: no room, or a directory that cannot be used. What is neither comes back as
 * it is.
 *
 * @param unusable what is said of the directory where it cannot be used.
 */
export function asDiskError(thrown: unknown, dir: string, unusable: string): unknown {
  const { code, syscall } = (thrown ?? {}) as Partial<NodeJS.ErrnoException>;
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new GloveboxError('DISK_FULL', { message: `No space left in ${dir}.`, cause: thrown });
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
    case 'ENOTDIR':
    case 'ELOOP':
      return unusableError(unusable, thrown);
    case 'ENOENT':
      // What Node.js says of a directory that it was to make with all above it, where the disk is read-only.
      return syscall === 'mkdir' ? unusableError(unusable, thrown) : thrown;
    default:
      return thrown;
  }
}

const unusableError = (message: string, cause: unknown): GloveboxError =>
  new GloveboxError('DATA_DIR_UNUSABLE', { message, cause });
