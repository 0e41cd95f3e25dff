import { GloveboxError } from '@glovebox/contract';

const codeOf = (thrown: unknown): string | undefined => (thrown as NodeJS.ErrnoException | null)?.code;

/** A failure of the file system as a typed error: no room, or a directory that cannot be used. What is neither comes back as it is. */
export function asDiskError(thrown: unknown, dir: string): unknown {
  switch (codeOf(thrown)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new GloveboxError('DISK_FULL', { message: `No space left in ${dir}.`, cause: thrown });
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
    case 'ENOTDIR':
    case 'ELOOP':
      return new GloveboxError('DATA_DIR_UNUSABLE', { message: `Files cannot be stored in ${dir}.`, cause: thrown });
    default:
      return thrown;
  }
}

export const isMissing = (thrown: unknown): boolean => codeOf(thrown) === 'ENOENT';
