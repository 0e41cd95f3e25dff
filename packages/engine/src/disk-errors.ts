import { GloveboxError } from '@glovebox/contract';

/**
 * A failure of the file system as a typed error: no room, or a directory that cannot be used. What is neither comes back as
 * it is.
 *
 * @param unusable what is said of the directory where it cannot be used.
 */
export function asDiskError(thrown: unknown, dir: string, unusable: string): unknown {
  switch ((thrown as NodeJS.ErrnoException | null | undefined)?.code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new GloveboxError('DISK_FULL', { message: `No space left in ${dir}.`, cause: thrown });
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
    case 'ENOTDIR':
    case 'ELOOP':
      return new GloveboxError('DATA_DIR_UNUSABLE', { message: unusable, cause: thrown });
    default:
      return thrown;
  }
}
