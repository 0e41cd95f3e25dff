import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { ErrorCode } from '@glovebox/contract';
import { GloveboxError } from '@glovebox/contract/errors';

/** Primary result codes of SQLite (sqlite.org/rescode.html); the extended ones keep them in the low byte. */
const primary = {
  perm: 3,
  busy: 5,
  locked: 6,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  protocol: 15,
  notADatabase: 26,
} as const;

const constraint = { primaryKey: 1555, unique: 2067, rowId: 2579 } as const;

/** Less free space than this cannot take a shared-memory index (32 KiB a region) and the first pages of a log. */
const leastFreeBytes = 256 * 1024;

const codes = new Map<number, ErrorCode>([
  [primary.perm, 'DATA_DIR_UNUSABLE'],
  [primary.busy, 'STORE_BUSY'],
  [primary.locked, 'STORE_BUSY'],
  [primary.readOnly, 'DATA_DIR_UNUSABLE'],
  [primary.ioError, 'DATA_DIR_UNUSABLE'],
  [primary.corrupt, 'STORE_CORRUPTED'],
  [primary.full, 'DISK_FULL'],
  [primary.cannotOpen, 'DATA_DIR_UNUSABLE'],
  [primary.protocol, 'STORE_BUSY'],
  [primary.notADatabase, 'STORE_CORRUPTED'],
]);

const systemCodes = new Map<string, ErrorCode>([
  ['ENOSPC', 'DISK_FULL'],
  ['EDQUOT', 'DISK_FULL'],
  ['EACCES', 'DATA_DIR_UNUSABLE'],
  ['EPERM', 'DATA_DIR_UNUSABLE'],
  ['EROFS', 'DATA_DIR_UNUSABLE'],
  ['ENOENT', 'DATA_DIR_UNUSABLE'],
  ['ENOTDIR', 'DATA_DIR_UNUSABLE'],
  ['EISDIR', 'DATA_DIR_UNUSABLE'],
  ['ELOOP', 'DATA_DIR_UNUSABLE'],
  ['ENAMETOOLONG', 'DATA_DIR_UNUSABLE'],
  ['EIO', 'DATA_DIR_UNUSABLE'],
]);

/** The result code of SQLite in something thrown by `node:sqlite`; undefined where it is something else. */
export function sqliteCode(thrown: unknown): number | undefined {
  if (!(thrown instanceof Error) || !('errcode' in thrown)) return undefined;
  return typeof thrown.errcode === 'number' ? thrown.errcode : undefined;
}

export const isBusy = (thrown: unknown): boolean => {
  const code = (sqliteCode(thrown) ?? 0) & 0xff;
  return code === primary.busy || code === primary.locked || code === primary.protocol;
};

/** Anything thrown while working on the database at `path`, as the error that callers can act on. */
export function storeError(thrown: unknown, path: string): GloveboxError {
  if (thrown instanceof GloveboxError) return thrown;
  const detail = thrown instanceof Error ? thrown.message : String(thrown);
  const place = { file: path };
  const result = sqliteCode(thrown);
  if (result === constraint.primaryKey || result === constraint.unique || result === constraint.rowId) {
    return new GloveboxError('ALREADY_EXISTS', {
      message: `a record with this id is there: ${detail}`,
      place,
      cause: thrown,
    });
  }
  let code = result === undefined ? systemCode(thrown) : codes.get(result & 0xff);
  // SQLite says "I/O error" or "unable to open" where the disk had no room for its side files.
  if (code === 'DATA_DIR_UNUSABLE' && result !== undefined && isDiskFull(path)) code = 'DISK_FULL';
  return new GloveboxError(code ?? 'INTERNAL', { message: `${path}: ${detail}`, place, cause: thrown });
}

function systemCode(thrown: unknown): ErrorCode | undefined {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  return typeof code === 'string' ? systemCodes.get(code) : undefined;
}

function isDiskFull(path: string): boolean {
  try {
    const disk = statfsSync(dirname(path));
    // Some file systems count no inodes and say 0 of 0.
    return disk.bavail * disk.bsize < leastFreeBytes || (disk.files > 0 && disk.ffree === 0);
  } catch {
    return false;
  }
}
