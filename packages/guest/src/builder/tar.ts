import { buildLimits } from '@glovebox/contract/build-limits';
import { applyPax, type PaxFields, parsePax } from './pax.ts';
import { archiveRefusal } from './refusal.ts';
import { utf8 } from './utf8.ts';

export interface TarEntry {
  /** As the archive spells it, without the slash that a directory may end with. Not checked beyond being UTF-8. */
  unsafePath: string;
  kind: 'file' | 'directory';
  executable: boolean;
  /** A view into the archive. */
  bytes: Buffer;
}

const block = 512;

/** Why an entry of this type is not taken. What is not here is unknown, and refused as that. */
const refusedTypes: { [type: string]: string } = {
  '1': 'it is a hard link',
  '2': 'it is a symbolic link',
  '3': 'it is a character device',
  '4': 'it is a block device',
  '6': 'it is a FIFO',
  K: 'it has the long name of a link',
  S: 'it is a sparse file',
};

/** What the entries before a file say about it. */
interface Pending {
  pax?: PaxFields;
  longName?: string;
}

/**
 * Read a tar archive (ustar, with pax headers and GNU long names) that holds regular files and directories only.
 *
 * It is stricter than other readers on purpose: wherever two readers could see two different sets of files in the same
 * bytes (checksums, sizes said twice, bytes behind the end), the whole archive is refused, so that what is checked here is
 * what anyone else sees in it. Owners, times, extended attributes and the mode's special bits are dropped.
 *
 * @throws Refusal `ARCHIVE_REFUSED`, naming the entry.
 */
export function readTar(archive: Buffer): TarEntry[] {
  const entries: TarEntry[] = [];
  let pending: Pending = {};
  let at = 0;
  let headers = 0;
  for (;;) {
    if (at + block > archive.length) throw archiveRefusal('it is cut short');
    const header = archive.subarray(at, at + block);
    if (isZero(header)) break;
    // Headers of every kind count: a million pax headers are as costly as a million files.
    if (++headers > 2 * buildLimits.entries) throw archiveRefusal(`it has more than ${buildLimits.entries} entries`);
    checkChecksum(header);
    const type = String.fromCharCode(header[156] as number);
    const shownName = nameOf(header, pending);
    const size = octal(header, 124, 12, 'size', shownName);
    if (size > archive.length - at - block) throw archiveRefusal('it is cut short', shownName);
    const content = archive.subarray(at + block, at + block + size);
    at += block + Math.ceil(size / block) * block;

    if (type === 'x' || type === 'g') {
      checkNothingPending(pending, shownName);
      const fields = parsePax(content);
      if (type === 'x') pending.pax = fields;
      // A global header applies to what follows, and tools differ in how: only one that changes nothing is taken.
      else if (!applyPax(fields).isNeutral) throw archiveRefusal('it has a global pax header that changes its entries');
      continue;
    }
    if (type === 'L') {
      checkNothingPending(pending, shownName);
      pending.longName = longName(content);
      continue;
    }
    if (type !== '0' && type !== '\0' && type !== '5') {
      throw archiveRefusal(refusedTypes[type] ?? `it has the unknown type ${JSON.stringify(type)}`, shownName);
    }
    entries.push(entryOf(header, type, content, pending, shownName));
    if (entries.length > buildLimits.entries) throw archiveRefusal(`it has more than ${buildLimits.entries} entries`);
    pending = {};
  }
  if (pending.pax !== undefined || pending.longName !== undefined)
    throw archiveRefusal('it ends with a header of no entry');
  if (!isZero(archive.subarray(at))) throw archiveRefusal('it has bytes behind its end');
  return entries;
}

function entryOf(header: Buffer, type: string, content: Buffer, pending: Pending, name: string): TarEntry {
  if (pending.pax !== undefined) {
    const pax = applyPax(pending.pax);
    if (pax.problem !== undefined) throw archiveRefusal(pax.problem, name);
    // Readers that take the one size and readers that take the other would go on at different places.
    if (pax.size !== undefined && pax.size !== content.length) throw archiveRefusal('it has two different sizes', name);
  }
  const endsWithSlash = name.endsWith('/');
  const kind = type === '5' || endsWithSlash ? 'directory' : 'file';
  if (kind === 'directory' && content.length > 0) throw archiveRefusal('it is a directory with content', name);
  const mode = octal(header, 100, 8, 'mode', name);
  return {
    unsafePath: endsWithSlash ? name.slice(0, -1) : name,
    kind,
    executable: (mode & 0o111) !== 0,
    bytes: content,
  };
}

/** Readers differ in which entry the first of two such headers is for. */
function checkNothingPending(pending: Pending, name: string): void {
  if (pending.pax !== undefined || pending.longName !== undefined) {
    throw archiveRefusal('it has two extension headers in a row', name);
  }
}

/** The entry's path: the pax header's, else the GNU long name, else the header's own. */
function nameOf(header: Buffer, pending: Pending): string {
  const pax = pending.pax?.get('path');
  if (pax !== undefined) return pax;
  if (pending.longName !== undefined) return pending.longName;
  const name = utf8(untilNul(header.subarray(0, 100)), 'its name');
  // POSIX: only where the magic is that of ustar does the prefix field hold a prefix; GNU keeps other things there.
  const prefix =
    header.toString('latin1', 257, 263) === 'ustar\0' ? utf8(untilNul(header.subarray(345, 500)), 'its name') : '';
  return prefix === '' ? name : `${prefix}/${name}`;
}

function longName(content: Buffer): string {
  if (content.length > 4096) throw archiveRefusal('it has a name longer than 4096 bytes');
  const end = content.indexOf(0);
  if (end !== -1 && end !== content.length - 1) throw archiveRefusal('it has a name with a NUL in it');
  return utf8(end === -1 ? content : content.subarray(0, end), 'its long name');
}

function checkChecksum(header: Buffer): void {
  let sum = 8 * 0x20;
  for (let i = 0; i < block; i++) if (i < 148 || i >= 156) sum += header[i] as number;
  if (octal(header, 148, 8, 'checksum') !== sum) throw archiveRefusal('the checksum of a header is wrong');
}

/** A number field: octal digits between spaces and NULs, nothing else. Binary (base 256) numbers are never needed here. */
function octal(header: Buffer, start: number, length: number, field: string, name?: string): number {
  const text = header.toString('latin1', start, start + length);
  const match = /^ *([0-7]*)[ \0]*$/.exec(text);
  if (match === null) throw archiveRefusal(`the ${field} field of a header is not an octal number`, name);
  return match[1] === '' ? 0 : Number.parseInt(match[1] as string, 8);
}

function untilNul(field: Buffer): Buffer {
  const nul = field.indexOf(0);
  return nul === -1 ? field : field.subarray(0, nul);
}

function isZero(bytes: Buffer): boolean {
  for (let i = 0; i < bytes.length; i++) if (bytes[i] !== 0) return false;
  return true;
}
