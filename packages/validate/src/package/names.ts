import { decodeUtf8 } from '../json/read.ts';
import { quoted } from '../text.ts';
import { packageLimits } from './limits.ts';

export type NameCheck = { ok: true; name: string } | { ok: false; shown: string; problem: string };

/** C0, DEL, C1; marks that hide or reorder text (Trojan Source); line separators; what other systems take as a separator. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
const refusedCharacter = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\\]/;

/** A name as the kernel gave it. `shown` is safe to print. */
export function checkName(bytes: Buffer): NameCheck {
  const name = decodeUtf8(bytes);
  if (name === undefined) return { ok: false, shown: quoted(bytes.toString('latin1')), problem: 'is not valid UTF-8' };
  if (bytes.length > packageLimits.nameBytes) {
    return { ok: false, shown: quoted(name), problem: `is longer than ${packageLimits.nameBytes} bytes` };
  }
  const refused = refusedCharacter.exec(name);
  if (refused !== null) {
    const code = refused[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    return { ok: false, shown: quoted(name), problem: `holds the refused character U+${code}` };
  }
  return { ok: true, name };
}

/**
 * What two names share when some file system takes them for one: case and Unicode normalisation folded away. Such a pair
 * would make one tree here and another where the artifact is unpacked.
 */
export function collisionKey(name: string): string {
  return name.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');
}
