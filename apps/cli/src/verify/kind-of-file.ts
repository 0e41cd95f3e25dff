import type { FileHandle } from 'node:fs/promises';
import { readStart } from './unsafe-file.ts';

/** Of POSIX tar, at its place in the first header (pax: "ustar Interchange Format"). */
const tarMagic = { text: 'ustar', at: 257 };
const gzipMagic = Buffer.from([0x1f, 0x8b]);

/**
 * What a file seems to be, by its first bytes: only which check it is given to. That check believes none of it, and what
 * seems to be nothing else is given to the one for receipts.
 */
export async function kindOfFile(file: FileHandle): Promise<'receipt' | 'artifact' | 'audit'> {
  const start = await readStart(file, 512);
  const isTar = start.toString('latin1', tarMagic.at, tarMagic.at + tarMagic.text.length) === tarMagic.text;
  // A compressed tar is told from a receipt, so that whoever has one is told what to do with it.
  if (isTar || start.subarray(0, 2).equals(gzipMagic)) return 'artifact';
  return /^\{"kind":"glovebox\.audit\//.test(start.toString('latin1')) ? 'audit' : 'receipt';
}
