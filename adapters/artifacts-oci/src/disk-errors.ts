import { asDiskError } from '@glovebox/engine/disk-errors';

const codeOf = (thrown: unknown): string | undefined => (thrown as NodeJS.ErrnoException | null)?.code;

/** Do something with files of the store, and tell no room and a directory that cannot be used by their codes. */
export async function onDisk<T>(dir: string, action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw asDiskError(error, dir, `Artifacts cannot be kept in ${dir}.`);
  }
}

export const isTaken = (thrown: unknown): boolean => codeOf(thrown) === 'EEXIST';

export const isMissing = (thrown: unknown): boolean => codeOf(thrown) === 'ENOENT';

/** What is there is a link, a pipe without a reader, a device, or too large: no file of ours. */
export const isOtherKind = (thrown: unknown): boolean =>
  [undefined, 'ELOOP', 'ENXIO', 'EISDIR'].includes(codeOf(thrown));
