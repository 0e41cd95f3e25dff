import { archiveRefusal } from './refusal.ts';
import { utf8 } from './utf8.ts';

export type PaxFields = ReadonlyMap<string, string>;

/**
 * The records of a pax header (POSIX.1-2001): `length key=value\n` each, the length counting the whole record. A key that
 * comes twice is refused: readers differ in which one they take.
 *
 * @throws Refusal `ARCHIVE_REFUSED`.
 */
export function parsePax(content: Buffer): PaxFields {
  const fields = new Map<string, string>();
  for (let at = 0; at < content.length; ) {
    const space = content.indexOf(0x20, at);
    const digits = space === -1 || space - at > 8 ? '' : content.toString('latin1', at, space);
    const end = at + (/^[1-9]\d*$/.test(digits) ? Number(digits) : 0);
    const equals = content.indexOf(0x3d, space);
    if (end <= space + 1 || end > content.length || content[end - 1] !== 0x0a || equals === -1 || equals >= end) {
      throw archiveRefusal('a pax header in it is malformed');
    }
    const key = utf8(content.subarray(space + 1, equals), 'a pax header');
    if (fields.has(key)) throw archiveRefusal(`a pax header in it has ${JSON.stringify(key.slice(0, 100))} twice`);
    fields.set(key, paxValue(key, content.subarray(equals + 1, end - 1)));
    at = end;
  }
  return fields;
}

/** Only what is used must be text: extended attributes, for one, may hold any bytes. */
function paxValue(key: string, bytes: Buffer): string {
  if (key !== 'path') return bytes.toString('latin1');
  const path = utf8(bytes, 'its path');
  if (path === '' || path.includes('\0')) throw archiveRefusal('a path in a pax header is empty or has a NUL', path);
  return path;
}

export interface PaxEffect {
  path?: string;
  size?: number;
  /** Why the entry is refused. */
  problem?: string;
  /** Nothing of the entry is changed by it. */
  isNeutral: boolean;
}

/** What a pax header changes of its entry. Times, owners, comments and plain extended attributes change nothing here. */
export function applyPax(fields: PaxFields): PaxEffect {
  const effect: PaxEffect = { isNeutral: true };
  for (const [key, value] of fields) {
    if (key === 'path') effect.path = value;
    else if (key === 'size') {
      if (!/^\d{1,15}$/.test(value)) effect.problem ??= 'its size in a pax header is not a number';
      effect.size = Number(value);
    } else if (key === 'linkpath') effect.problem ??= 'it is a link';
    else if (key.startsWith('GNU.sparse.') || key === 'SCHILY.realsize') effect.problem ??= 'it is a sparse file';
    else if (key === 'hdrcharset') effect.problem ??= 'a pax header changes the character set';
    // A file capability is the modern form of a setuid bit.
    else if (/^(?:SCHILY|LIBARCHIVE)\.xattr\.security\./.test(key))
      effect.problem ??= 'it carries a security attribute';
    else continue;
    effect.isNeutral = false;
  }
  return effect;
}
