const blockBytes = 512;
const maxNameBytes = 100;

/** Two blocks of zeros end an archive. */
export const tarEnd: Uint8Array = new Uint8Array(2 * blockBytes);

/** The zeros that fill the last block of a file's bytes. */
export const tarPadding = (sizeBytes: number): Uint8Array =>
  new Uint8Array((blockBytes - (sizeBytes % blockBytes)) % blockBytes);

/**
 * What stands before the bytes of a regular file: a POSIX ustar header, with a pax header before it where the path is
 * longer than 100 bytes or not ASCII. The same for the same file on any machine at any time: mode 0644, owner 0, group 0, no
 * names, time 0.
 */
export function tarHeader(path: string, sizeBytes: number): Uint8Array {
  const name = Buffer.from(path);
  if (name.length <= maxNameBytes && name.every((byte) => byte < 0x80)) return ustar(path, '0', sizeBytes);
  const record = paxRecord('path', name);
  return Buffer.concat([
    ustar('PaxHeader', 'x', record.length),
    record,
    tarPadding(record.length),
    // Readers that know no pax see this name.
    ustar('LongName', '0', sizeBytes),
  ]);
}

function ustar(name: string, type: '0' | 'x', sizeBytes: number): Buffer {
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, at: number, digits: number): void => {
    header.write(value.toString(8).padStart(digits, '0'), at, 'latin1');
  };
  header.write(name, 0, 'latin1');
  octal(0o644, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(sizeBytes, 124, 11);
  octal(0, 136, 11);
  header.write(type, 156, 'latin1');
  header.write('ustar\x0000', 257, 'latin1');
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return header;
}

/** `<length> <key>=<value>\n`, where the length counts its own digits. */
function paxRecord(key: string, value: Uint8Array): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), value, Buffer.from('\n')]);
  let length = rest.length;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

/** An entry of a tar archive, as far as it is read here. */
export interface TarEntry {
  /** As the archive spells it. */
  unsafePath: string;
  type: string;
  /** Of the content. */
  start: number;
  sizeBytes: number;
}

/**
 * Read the header of a plain entry: no name beyond 100 bytes, no size beyond octal digits. Enough for what tarHeader
 * writes and for layouts of images, whose names are short.
 *
 * @returns undefined for a block of zeros; a text that says what is wrong.
 */
export function readTarHeader(block: Buffer, start: number): TarEntry | string | undefined {
  if (block.length !== blockBytes) return 'it is cut short';
  if (block.every((byte) => byte === 0)) return undefined;
  const field = (at: number, length: number): string => {
    const bytes = block.subarray(at, at + length);
    const end = bytes.indexOf(0);
    return bytes.toString('latin1', 0, end === -1 ? length : end);
  };
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  if (Number.parseInt(field(148, 8), 8) !== sum) return 'a header is damaged';
  const size = /^([0-7]{1,11}) *$/.exec(field(124, 12))?.[1];
  if (size === undefined) return 'a size is not octal';
  // Some readers put this before the name only where the magic is that of ustar, and some always.
  if (block.subarray(345, 500).some((byte) => byte !== 0)) return 'a name has a prefix';
  return {
    unsafePath: field(0, maxNameBytes),
    type: field(156, 1),
    start: start + blockBytes,
    sizeBytes: Number.parseInt(size, 8),
  };
}

/** Where the header after an entry begins. */
export const afterTarEntry = ({ start, sizeBytes }: TarEntry): number =>
  start + Math.ceil(sizeBytes / blockBytes) * blockBytes;
