import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type ErrorCode, GloveboxError } from '@glovebox/contract';

/** What is thrown for a path that cannot be used, but for `DISK_FULL`. */
export type Blame = Extract<ErrorCode, 'DATA_DIR_UNUSABLE' | 'KEY_UNUSABLE'>;

/** Files of the data directory are small; a larger one is not ours. */
const maxFileBytes = 64 * 1024;

/** Make the directory where there is none, for its owner alone, and refuse one that others can reach. */
export function requirePrivateDirectory(path: string, blame: Blame): void {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw fileError(error, path, blame);
  }
  checkPrivateDirectory(path, blame);
}

/** Refuse a directory that is not there, or that others can reach. */
export function checkPrivateDirectory(path: string, blame: Blame): void {
  try {
    const found = lstatSync(path);
    if (found.isSymbolicLink()) unusable(blame, path, 'is a symbolic link', 'Name the directory itself.');
    if (!found.isDirectory()) unusable(blame, path, 'is not a directory');
    requireOwner(blame, path, found.uid);
    if ((found.mode & 0o077) !== 0) unusable(blame, path, 'can be reached by others', `Run: chmod 700 ${path}`);
  } catch (error) {
    throw fileError(error, path, blame);
  }
}

/**
 * Read a file that only its owner may change, and, with `secret`, only its owner may read.
 *
 * Checked on the open file, which no one can exchange any more; a link in its place is not followed, and a pipe does not
 * hang the reader.
 *
 * @returns undefined where there is none; `links` is above 1 where a writer died before it had tidied up.
 */
export function readPrivateFile(
  path: string,
  blame: Blame,
  secret: boolean,
): { text: string; links: number } | undefined {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const found = fstatSync(file);
    if (!found.isFile()) unusable(blame, path, 'is not a file');
    requireOwner(blame, path, found.uid);
    const others = secret ? 0o077 : 0o022;
    if ((found.mode & others) !== 0) {
      unusable(blame, path, secret ? 'can be read by others' : 'can be changed by others', `Run: chmod 600 ${path}`);
    }
    if (found.size > maxFileBytes) unusable(blame, path, 'is too large');
    return { text: readFileSync(file, 'utf8'), links: found.nlink };
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw fileError(error, path, blame);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/**
 * Write a file that is not there yet, whole or not at all. When several do so at once, one of them wins and the others
 * leave its file alone: read it afterwards to learn which.
 */
export function writeOnce(path: string, text: string, blame: Blame): void {
  const temporary = temporaryOf(path);
  try {
    writeSynced(temporary, text);
    try {
      // Unlike a rename, a link fails where the name is taken.
      linkSync(temporary, path);
    } catch (error) {
      // ENOENT: the winner has removed our temporary file with its own.
      if (!isCode(error, 'EEXIST') && !isCode(error, 'ENOENT')) throw error;
    }
    syncDirectory(dirname(path));
  } catch (error) {
    throw fileError(error, path, blame);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/** Write a file, whole or not at all, in the place of whatever has its name. */
export function writeAnew(path: string, text: string, blame: Blame): void {
  for (let again = manyTimes; ; again--) {
    const temporary = temporaryOf(path);
    try {
      writeSynced(temporary, text);
      renameSync(temporary, path);
      syncDirectory(dirname(path));
      return;
    } catch (error) {
      rmSync(temporary, { force: true });
      // Another writer was there first, and took our temporary file for a leftover.
      if (isCode(error, 'ENOENT') && again > 0) continue;
      throw fileError(error, path, blame);
    }
  }
}

/** Each process takes leftovers away when it starts, so that no more come in between than start at once. */
const manyTimes = 20;

/** Remove what dead writers of the file left. Only once the file is there: then no writer needs its own any more. */
export function removeLeftovers(path: string): void {
  for (const name of readdirSync(dirname(path))) {
    if (name.startsWith(`.${basename(path)}.`)) rmSync(join(dirname(path), name), { force: true });
  }
}

const temporaryOf = (path: string): string =>
  join(dirname(path), `.${basename(path)}.${randomBytes(8).toString('hex')}`);

function writeSynced(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    // The umask may have taken from the mode.
    fchmodSync(file, 0o600);
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function syncDirectory(path: string): void {
  const directory = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}

function requireOwner(blame: Blame, path: string, uid: number): void {
  const own = process.geteuid?.();
  if (uid !== own)
    unusable(
      blame,
      path,
      `belongs to uid ${uid}, and this process is uid ${own}`,
      'Run as its owner, or set --data-dir.',
    );
}

function unusable(code: Blame, path: string, what: string, hint?: string): never {
  throw new GloveboxError(code, {
    message: `${path} ${what}.`,
    place: { file: path },
    ...(hint === undefined ? {} : { hint }),
  });
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

function fileError(error: unknown, path: string, blame: Blame): GloveboxError {
  if (error instanceof GloveboxError) return error;
  const place = { file: path };
  if (isCode(error, 'ENOSPC') || isCode(error, 'EDQUOT'))
    return new GloveboxError('DISK_FULL', { place, cause: error });
  if (isCode(error, 'ELOOP')) {
    return new GloveboxError(blame, {
      message: `${path} is a symbolic link.`,
      hint: 'Put the file itself there.',
      place,
      cause: error,
    });
  }
  const detail = error instanceof Error ? error.message : String(error);
  return new GloveboxError(blame, { message: `${path}: ${detail}`, place, cause: error });
}
