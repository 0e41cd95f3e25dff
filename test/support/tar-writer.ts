import { gzipSync } from 'node:zlib';

/** One header and its content, written as told: hostile archives are made by telling wrong things. */
export interface TarItem {
  name?: string | Buffer;
  type?: string;
  content?: Buffer | string;
  mode?: number;
  /** In place of the content's length. */
  size?: number;
  /** The size field's 12 bytes, as they are. */
  sizeField?: Buffer;
  linkname?: string;
  prefix?: string;
  /** In place of `ustar\0` + `00`. */
  magic?: string;
  checksum?: number;
}

const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512)]);

export function tarItem(item: TarItem): Buffer {
  const content = Buffer.from(item.content ?? '');
  const header = Buffer.alloc(512);
  Buffer.from(item.name ?? '').copy(header, 0, 0, 100);
  header.write(`${(item.mode ?? 0o644).toString(8).padStart(7, '0')}\0`, 100, 'latin1');
  header.write('0000000\0', 108, 'latin1');
  header.write('0000000\0', 116, 'latin1');
  header.write(`${(item.size ?? content.length).toString(8).padStart(11, '0')}\0`, 124, 'latin1');
  item.sizeField?.copy(header, 124);
  header.write('00000000000\0', 136, 'latin1');
  header.write(item.type ?? '0', 156, 'latin1');
  header.write(item.linkname ?? '', 157, 'utf8');
  header.write(item.magic ?? 'ustar\x0000', 257, 'latin1');
  header.write(item.prefix ?? '', 345, 'utf8');
  header.fill(0x20, 148, 156);
  let sum = 0;
  for (const byte of header) sum += byte;
  header.write(`${(item.checksum ?? sum).toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return Buffer.concat([header, padded(content)]);
}

/** The records of a pax header. */
export function paxRecords(fields: [key: string, value: string | Buffer][]): Buffer {
  return Buffer.concat(
    fields.map(([key, value]) => {
      const rest = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from('\n')]);
      let length = rest.length + 1;
      while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
      return Buffer.concat([Buffer.from(String(length)), rest]);
    }),
  );
}

export const pax = (fields: [key: string, value: string | Buffer][], type: 'x' | 'g' = 'x'): TarItem => ({
  name: 'PaxHeader/x',
  type,
  content: paxRecords(fields),
});

export const gnuLongName = (name: string): TarItem => ({
  name: '././@LongLink',
  type: 'L',
  content: Buffer.from(`${name}\0`),
  magic: 'ustar  \0',
});

export function tar(items: TarItem[], end: Buffer = Buffer.alloc(1024)): Buffer {
  return Buffer.concat([...items.map(tarItem), end]);
}

export const tgz = (items: TarItem[]): Buffer => gzipSync(tar(items));

/** A plain package as npm packs it. */
export function packageTgz(
  name: string,
  version: string,
  files: { [path: string]: string | Buffer } = {},
  json: object = {},
): Buffer {
  return tgz([
    { name: 'package/package.json', content: JSON.stringify({ name, version, ...json }) },
    ...Object.entries(files).map(([path, content]) => ({ name: `package/${path}`, content })),
  ]);
}
