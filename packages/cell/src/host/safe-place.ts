import { lstatSync, mkdirSync, readdirSync, realpathSync, type Stats } from 'node:fs';
import { dirname, join, parse } from 'node:path';
import { GloveboxError } from '@glovebox/contract';

const writableByOthers = 0o022;
const sticky = 0o1000;

/** Root and our own user: whoever is one of them can change everything here anyway. */
export const ownUsers = (): readonly number[] => [0, process.geteuid?.() ?? 0];

/**
 * Refuse a path that somebody else than `users` could put something else in the place of: every directory down to it, and
 * what it names itself, belongs to one of them and is writable by nobody else, and there is no link on the way. A directory
 * with the sticky bit may be on the way: nobody can exchange what belongs to another there.
 *
 * @throws GloveboxError `PLACE_UNSAFE`.
 */
export function requireSafe(path: string, users = ownUsers()): void {
  for (let above = dirname(path); ; above = dirname(above)) {
    const stat = lookAt(above);
    requireOwner(above, stat, users);
    if ((stat.mode & writableByOthers) !== 0 && (stat.mode & sticky) === 0) throw writable(above);
    if (above === parse(above).root) break;
  }
  const stat = lookAt(path);
  requireOwner(path, stat, users);
  if ((stat.mode & writableByOthers) !== 0) throw writable(path);
}

/** A directory of our own that nobody else can enter. Made where it is not there. */
export function requirePrivateDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw unsafe(path, `cannot be made`, cause);
  }
  requireDirectory(path);
  if (lstatSync(path).uid !== process.geteuid?.()) throw unsafe(path, 'belongs to another user');
  if ((lstatSync(path).mode & 0o077) !== 0) throw unsafe(path, 'can be reached by others');
}

/** @throws GloveboxError `PLACE_UNSAFE` where it is none, too. */
export function requireDirectory(path: string, users = ownUsers()): void {
  requireSafe(path, users);
  if (!lstatSync(path).isDirectory()) throw unsafe(path, 'is not a directory');
}

/**
 * As `requireSafe`, for all that is below a directory. Links are looked at as such: what they name is named in a cell,
 * where the host's files are not.
 *
 * @param except entries directly in it that are left out.
 */
export function requireSafeTree(directory: string, except: readonly string[] = []): void {
  requireDirectory(directory);
  for (const entry of readdirSync(directory, { withFileTypes: true })) {
    if (except.includes(entry.name)) continue;
    const path = join(directory, entry.name);
    const stat = lstatSync(path);
    requireOwner(path, stat, ownUsers());
    if (entry.isSymbolicLink()) continue;
    if ((stat.mode & writableByOthers) !== 0) throw writable(path);
    if (entry.isDirectory()) requireSafeTree(path);
    else if (!entry.isFile()) throw unsafe(path, 'is no file of an image');
  }
}

function lookAt(path: string): Stats {
  try {
    if (realpathSync(path) !== path) throw unsafe(path, `is reached by a link: name ${realpathSync(path)} itself`);
    return lstatSync(path);
  } catch (thrown) {
    if (thrown instanceof GloveboxError) throw thrown;
    throw unsafe(path, `cannot be looked at: ${(thrown as Error).message}`, thrown);
  }
}

function requireOwner(path: string, { uid }: Stats, users: readonly number[]): void {
  if (!users.includes(uid)) throw unsafe(path, `belongs to uid ${uid}`);
}

const writable = (path: string): GloveboxError => unsafe(path, 'can be changed by others');

const unsafe = (path: string, why: string, cause?: unknown): GloveboxError =>
  new GloveboxError('PLACE_UNSAFE', { message: `${path} ${why}.`, cause });
