import { afterTarEntry, readTarHeader, type TarEntry } from './tar.ts';

/** Entries that are looked at in a tar before it is given up. */
const maxEntries = 100_000;
const maxPaxBytes = 64 * 1024;
/** Zeros that may fill up a tar: as many as the largest blocks of a tape that GNU tar is used with. */
const maxFillBytes = 1024 * 1024 + 1024;

/** @returns the bytes from `at` on; fewer where the file ends. */
export type ReadAt = (at: number, sizeBytes: number) => Promise<Buffer>;

/**
 * The files in a tar of a layout, by their names without a `./` before them; or what is wrong with it.
 *
 * Only headers are read, one after the other. Whatever another reader could take for another set of files is refused:
 * names in other forms than the plain one, names that differ in capitals only, links, sparse files, pax headers that do
 * more than note times, owners and attributes, anything after the end.
 *
 * @param sizeBytes of the tar.
 */
export async function readLayoutTar(read: ReadAt, sizeBytes: number): Promise<ReadonlyMap<string, TarEntry> | string> {
  const files = new Map<string, TarEntry>();
  const names: Names = new Map();
  let at = 0;
  for (let count = 0; at < sizeBytes; count++) {
    if (count === maxEntries) return `it has more than ${maxEntries} entries`;
    const entry = readTarHeader(await read(at, 512), at);
    if (typeof entry === 'string') return entry;
    if (entry === undefined) {
      const isEmpty = sizeBytes - at <= maxFillBytes && (await read(at, sizeBytes - at)).every((byte) => byte === 0);
      if (!isEmpty) return 'it goes on after its end';
      break;
    }
    at = afterTarEntry(entry);
    if (at > sizeBytes) return 'it is cut short';
    const fault = await faultOf(entry, names, read);
    if (fault !== undefined) return fault;
    if (isFile(entry)) files.set(withoutDot(entry.unsafePath), entry);
  }
  return files.size === 0 ? 'it is not a tar' : files;
}

async function faultOf(entry: TarEntry, names: Names, read: ReadAt): Promise<string | undefined> {
  if (entry.type === 'x' || entry.type === 'g') {
    if (entry.sizeBytes > maxPaxBytes) return `a pax header has more than ${maxPaxBytes} bytes`;
    return isHarmlessPax(await read(entry.start, entry.sizeBytes))
      ? undefined
      : 'a pax header changes more than times and owners';
  }
  if (isFile(entry)) return addName(names, withoutDot(entry.unsafePath), 'file');
  if (entry.type !== '5') return 'it holds something that is neither a file nor a directory';
  // Some skip the content that a directory says to have, and some read it as the next header.
  if (entry.sizeBytes > 0) return 'a directory has content';
  const name = withoutDot(entry.unsafePath.replace(/\/$/, ''));
  return name === '.' ? undefined : addName(names, name, 'directory');
}

const isFile = ({ type }: TarEntry): boolean => type === '0' || type === '';

const withoutDot = (path: string): string => path.replace(/^\.\//, '');

/** What has which name, by the name in small letters: some file systems hold one file for all that differ in those only. */
type Names = Map<string, { spelling: string; kind: 'file' | 'directory' }>;

/** A part of a name that is the same file wherever it is unpacked: no `.` or `..`, and nothing that Windows cuts off. */
const plainPart = /^[\w.+@=-]*[\w+@=-]$/;

function addName(names: Names, path: string, kind: 'file' | 'directory'): string | undefined {
  const parts = path.split('/');
  if (!parts.every((part) => plainPart.test(part))) return 'a name in it is not a plain one';
  for (const i of parts.keys()) {
    const spelling = parts.slice(0, i + 1).join('/');
    const own = { spelling, kind: i === parts.length - 1 ? kind : 'directory' } as const;
    const found = names.get(spelling.toLowerCase()) ?? own;
    // A directory may be named as often as there is something in it.
    const isSame = found.spelling === spelling && found.kind === 'directory' && own.kind === 'directory';
    if (found !== own && !isSame) return 'a name occurs twice';
    names.set(spelling.toLowerCase(), own);
  }
  return undefined;
}

/** Keys of pax records that change neither name nor content. */
const harmlessKey =
  /^(?:[acm]time|[ug]id|[ug]name|comment|LIBARCHIVE\.creationtime|SCHILY\.(?:dev|ino|nlink|fflags|acl\.\w+)|(?:SCHILY|LIBARCHIVE)\.xattr\..+)$/;

/** Whether each record is one line that has the length it says, so that all readers see the same keys; and knows only such. */
function isHarmlessPax(bytes: Buffer): boolean {
  const text = bytes.toString('latin1');
  const record = /([1-9]\d{0,7}) ([^=\n]+)=[^\n]*\n/y;
  let at = 0;
  for (let found = record.exec(text); found !== null; found = record.exec(text)) {
    const [line, length, key = ''] = found;
    if (line.length !== Number(length) || !harmlessKey.test(key)) return false;
    at = record.lastIndex;
  }
  return at === text.length;
}
