import {
  type BigIntStats,
  closeSync,
  constants,
  type Dir,
  fstatSync,
  lstatSync,
  opendirSync,
  openSync,
  readSync,
} from 'node:fs';
import { formatSize } from '@glovebox/contract';
import type { Findings } from '../findings.ts';
import { ignoredAtRoot, packageLimits } from './limits.ts';
import { checkName, collisionKey } from './names.ts';
import { sortedByBytes } from './revision.ts';

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY, O_DIRECTORY } = constants;
// O_NONBLOCK: opening a pipe that was put in a file's place must not wait for a writer.
const openFile = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
const openDirectory = openFile | O_DIRECTORY;

interface Walk {
  findings: Findings;
  files: Map<string, Uint8Array>;
  seen: Set<string>;
  ignored: string[];
  entries: number;
  fileCount: number;
  totalBytes: number;
  /** The uid that owns the package directory. */
  owner: bigint;
}

/** An entry of a directory that is held open: its path is that of the handle, so no component above can be swapped. */
interface Entry {
  directory: number;
  name: Buffer;
  path: string;
  stat: BigIntStats;
}

export interface Tree {
  /** Whether all of it was seen; the limit of entries ends a walk early. */
  complete: boolean;
  /** Bytes by path, in ascending order of the bytes of the path. */
  files: Map<string, Uint8Array>;
  /** Every path that is not a directory, whether it was taken or refused. */
  seen: Set<string>;
  /** What stands at the root and is no part of the package. */
  ignored: string[];
}

/** The walk has seen too much to go on. */
class Enough extends Error {}

/**
 * Read every file below `dir`, each once, into memory.
 *
 * The directory may change under our hands, and whoever writes in it may be hostile. So each name is opened relative to
 * a handle of its directory (through /proc/self/fd, in place of openat), links are never followed, only what is a regular
 * file both before and after it was opened is read, and a file that changes meanwhile is a finding. All that is refused
 * is told, not only the first. Bounded by packageLimits whatever the directory holds: milliseconds for a usual package,
 * so it is done synchronously.
 *
 * @returns incomplete when there are findings of severity `error`.
 */
export function readTree(dir: string, findings: Findings): Tree {
  let root: number;
  try {
    root = openSync(dir, O_RDONLY | O_NONBLOCK | O_DIRECTORY);
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT') findings.error('NOT_FOUND', `there is no directory ${dir}`);
    else if (code === 'ENOTDIR')
      findings.error('PACKAGE_INVALID', `${dir} is not a directory`, {}, 'Name the directory of a node package.');
    else findings.error('PACKAGE_INVALID', `${dir} cannot be opened: ${code}`, {}, 'Check its owner and mode.');
    return { complete: false, files: new Map(), seen: new Set(), ignored: [] };
  }
  try {
    const { uid } = fstatSync(root, { bigint: true });
    const walk: Walk = {
      findings,
      files: new Map(),
      seen: new Set(),
      ignored: [],
      entries: 0,
      fileCount: 0,
      totalBytes: 0,
      owner: uid,
    };
    let complete = true;
    try {
      readDirectory(walk, root, '', 0);
    } catch (error) {
      if (!(error instanceof Enough)) throw error;
      complete = false;
    }
    const paths = sortedByBytes([...walk.files.keys()]);
    const files = new Map(paths.map((path) => [path, walk.files.get(path) ?? new Uint8Array()]));
    return { complete, files, seen: walk.seen, ignored: walk.ignored };
  } finally {
    closeSync(root);
  }
}

function readDirectory(walk: Walk, directory: number, prefix: string, depth: number): void {
  const names = listNames(walk, directory, prefix, depth);
  const read: Entry[] = [];
  for (const { bytes, name } of names) {
    const entry = look(walk, directory, bytes, `${prefix}${name}`);
    if (entry === undefined) continue;
    if (entry.stat.isDirectory()) {
      descend(walk, entry, name, depth);
      continue;
    }
    walk.seen.add(entry.path);
    if (!entry.stat.isFile()) {
      walk.findings.error('PACKAGE_FILE_REFUSED', `${entry.path} is ${kindOf(entry.stat)}`, { file: entry.path });
    } else if (readFile(walk, entry)) read.push(entry);
  }
  // Once more at the end, so that what was read of one directory stood there together.
  for (const entry of read) {
    const now = lstatSync(procPath(directory, entry.name), { bigint: true, throwIfNoEntry: false });
    if (now === undefined || !sameFile(now, entry.stat)) changed(walk, entry.path);
  }
}

function listNames(walk: Walk, directory: number, prefix: string, depth: number): { bytes: Buffer; name: string }[] {
  const names: { bytes: Buffer; name: string }[] = [];
  const seen = new Map<string, string>();
  for (const bytes of rawNames(walk, directory, prefix).sort(Buffer.compare)) {
    const check = checkName(bytes);
    if (!check.ok) {
      walk.findings.error('PACKAGE_NAME_REFUSED', `the name ${check.shown} ${check.problem}`, {
        file: `${prefix}${check.shown}`,
      });
      continue;
    }
    const { name } = check;
    if (depth === 0 && ignoredAtRoot.has(name)) {
      walk.ignored.push(name);
      continue;
    }
    const path = `${prefix}${name}`;
    if (Buffer.byteLength(path) > packageLimits.pathBytes) {
      walk.findings.error('PACKAGE_NAME_REFUSED', `a path is longer than ${packageLimits.pathBytes} bytes`, {
        file: `${path.slice(0, 200)}…`,
      });
      continue;
    }
    const key = collisionKey(name);
    const other = seen.get(key);
    if (other !== undefined) {
      walk.findings.error(
        'PACKAGE_NAME_REFUSED',
        `${path} and ${prefix}${other} differ only in case or Unicode form`,
        { file: path },
        'Rename one of them.',
      );
      continue;
    }
    seen.set(key, name);
    names.push({ bytes, name });
  }
  return names;
}

/** As bytes: the kernel allows any in a name, and as text two different names could be told as one. */
function rawNames(walk: Walk, directory: number, prefix: string): Buffer[] {
  const place = prefix === '' ? {} : { file: prefix.slice(0, -1) };
  const raw: Buffer[] = [];
  let listing: Dir | undefined;
  try {
    listing = opendirSync(`/proc/self/fd/${directory}`, { encoding: 'buffer' as BufferEncoding, bufferSize: 256 });
    for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) {
      raw.push(entry.name as unknown as Buffer);
      if (++walk.entries <= packageLimits.entries) continue;
      const message = `the package holds more than ${packageLimits.entries} files and directories`;
      walk.findings.error('PACKAGE_TOO_LARGE', message, place);
      throw new Enough();
    }
  } catch (error) {
    if (error instanceof Enough) throw error;
    walk.findings.error(
      'PACKAGE_FILE_REFUSED',
      `a directory cannot be listed: ${errnoOf(error)}`,
      place,
      'Check its owner and mode.',
    );
  } finally {
    listing?.closeSync();
  }
  return raw;
}

function look(walk: Walk, directory: number, name: Buffer, path: string): Entry | undefined {
  try {
    return { directory, name, path, stat: lstatSync(procPath(directory, name), { bigint: true }) };
  } catch {
    changed(walk, path);
    return undefined;
  }
}

function descend(walk: Walk, entry: Entry, name: string, depth: number): void {
  if (name === 'node_modules' || name === '.git') {
    // A bundler would look into it before the locked dependencies.
    walk.findings.error(
      'PACKAGE_FILE_REFUSED',
      `${entry.path} may stand only at the root`,
      { file: entry.path },
      'Remove it.',
    );
    return;
  }
  if (depth === packageLimits.depth) {
    walk.findings.error('PACKAGE_TOO_LARGE', `${entry.path} is deeper than ${packageLimits.depth} directories`, {
      file: entry.path,
    });
    return;
  }
  const handle = openEntry(walk, entry, openDirectory);
  if (handle === undefined) return;
  try {
    readDirectory(walk, handle, `${entry.path}/`, depth + 1);
  } finally {
    closeSync(handle);
  }
}

/** @returns whether its bytes were taken. */
function readFile(walk: Walk, entry: Entry): boolean {
  const { findings } = walk;
  const { path, stat } = entry;
  const place = { file: path };
  walk.fileCount++;
  if (walk.fileCount > packageLimits.files) {
    if (walk.fileCount === packageLimits.files + 1) {
      findings.error('PACKAGE_TOO_LARGE', `the package holds more than ${packageLimits.files} files`, place);
    }
    return false;
  }
  if (stat.size > packageLimits.fileBytes) {
    findings.error(
      'PACKAGE_TOO_LARGE',
      `${path} is ${formatSize(Number(stat.size))}; at most ${formatSize(packageLimits.fileBytes)}`,
      place,
    );
    return false;
  }
  if (stat.nlink > 1n && stat.uid !== walk.owner) {
    // A second name for a file of somebody else that we may read and the author may not.
    findings.error(
      'PACKAGE_FILE_REFUSED',
      `${path} is a hard link to a file of another owner`,
      place,
      'Copy the file.',
    );
    return false;
  }
  const before = walk.totalBytes;
  walk.totalBytes += Number(stat.size);
  if (walk.totalBytes > packageLimits.totalBytes) {
    if (before <= packageLimits.totalBytes) {
      findings.error('PACKAGE_TOO_LARGE', `the package is over ${formatSize(packageLimits.totalBytes)} in all`, place);
    }
    return false;
  }
  const handle = openEntry(walk, entry, openFile);
  if (handle === undefined) return false;
  try {
    const bytes = readExactly(handle, Number(stat.size));
    const after = fstatSync(handle, { bigint: true });
    if (bytes === undefined || !sameFile(after, stat)) {
      changed(walk, path);
      return false;
    }
    walk.files.set(path, bytes);
    return true;
  } catch (error) {
    findings.error(
      'PACKAGE_FILE_REFUSED',
      `${path} cannot be read: ${errnoOf(error)}`,
      place,
      'Check its owner and mode.',
    );
    return false;
  } finally {
    closeSync(handle);
  }
}

/** Open what was looked at; a finding when something else stands there by now. */
function openEntry(walk: Walk, entry: Entry, flags: number): number | undefined {
  let handle: number;
  try {
    handle = openSync(procPath(entry.directory, entry.name), flags);
  } catch (error) {
    const code = errnoOf(error);
    // ELOOP: a link, ENXIO: a socket or a pipe, ENOTDIR: no directory any more.
    if (['ELOOP', 'ENXIO', 'ENOENT', 'ENOTDIR'].includes(code)) changed(walk, entry.path);
    else {
      walk.findings.error(
        'PACKAGE_FILE_REFUSED',
        `${entry.path} cannot be read: ${code}`,
        { file: entry.path },
        'Check its owner and mode.',
      );
    }
    return undefined;
  }
  const stat = fstatSync(handle, { bigint: true });
  if (stat.dev === entry.stat.dev && stat.ino === entry.stat.ino && stat.mode === entry.stat.mode) return handle;
  closeSync(handle);
  changed(walk, entry.path);
  return undefined;
}

/** Undefined when there are fewer bytes, or more. */
function readExactly(handle: number, size: number): Uint8Array | undefined {
  const buffer = Buffer.alloc(size + 1);
  let filled = 0;
  while (filled < buffer.length) {
    const bytesRead = readSync(handle, buffer, filled, buffer.length - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return filled === size ? new Uint8Array(buffer.buffer, buffer.byteOffset, size) : undefined;
}

function sameFile(a: BigIntStats, b: BigIntStats): boolean {
  return (
    a.dev === b.dev &&
    a.ino === b.ino &&
    a.mode === b.mode &&
    a.size === b.size &&
    a.mtimeNs === b.mtimeNs &&
    a.ctimeNs === b.ctimeNs
  );
}

function changed(walk: Walk, path: string): void {
  walk.findings.error(
    'PACKAGE_FILE_REFUSED',
    `${path} changed while it was read`,
    { file: path },
    'Run it again when nothing writes there.',
  );
}

function procPath(directory: number, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${directory}/`), name]);
}

function kindOf(stat: BigIntStats): string {
  if (stat.isSymbolicLink()) return 'a symbolic link';
  if (stat.isFIFO()) return 'a named pipe';
  if (stat.isSocket()) return 'a socket';
  if (stat.isBlockDevice() || stat.isCharacterDevice()) return 'a device';
  return 'no plain file';
}

function errnoOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : 'EIO';
}
