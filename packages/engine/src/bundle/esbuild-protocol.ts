/**
 * The values of esbuild's service protocol (0.28.2): each is a tag byte and its content; lengths and integers are 32 bits,
 * little endian. A packet is its length, `id << 1 | isResponse`, and one value.
 */
export type PacketValue =
  | null
  | boolean
  | number
  | string
  | Uint8Array
  | PacketValue[]
  | { [key: string]: PacketValue };

const tag = { null: 0, boolean: 1, integer: 2, string: 3, bytes: 4, list: 5, map: 6 } as const;

export function encodeRequest(id: number, value: PacketValue): Buffer {
  const parts: Buffer[] = [u32(id << 1)];
  encode(value, parts);
  const body = Buffer.concat(parts);
  return Buffer.concat([u32(body.length), body]);
}

function encode(value: PacketValue, parts: Buffer[]): void {
  if (value === null) parts.push(Buffer.from([tag.null]));
  else if (typeof value === 'boolean') parts.push(Buffer.from([tag.boolean, value ? 1 : 0]));
  else if (typeof value === 'number') parts.push(Buffer.from([tag.integer]), u32(value >>> 0));
  else if (typeof value === 'string') parts.push(Buffer.from([tag.string]), ...sized(Buffer.from(value)));
  else if (value instanceof Uint8Array) parts.push(Buffer.from([tag.bytes]), ...sized(Buffer.from(value)));
  else if (Array.isArray(value)) {
    parts.push(Buffer.from([tag.list]), u32(value.length));
    for (const item of value) encode(item, parts);
  } else {
    const entries = Object.entries(value);
    parts.push(Buffer.from([tag.map]), u32(entries.length));
    for (const [key, item] of entries) {
      parts.push(...sized(Buffer.from(key)));
      encode(item, parts);
    }
  }
}

const sized = (bytes: Buffer): Buffer[] => [u32(bytes.length), bytes];

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value >>> 0);
  return bytes;
}

/** Bounds of what is decoded: an answer of ours nests five levels and holds a few thousand values. */
const decodeLimits = { depth: 16, values: 200_000 } as const;

/**
 * Decode the body of one packet that came out of a cell.
 *
 * Strict: every length is checked before anything is allocated, depth and the number of values are bounded, nothing may be
 * left over, and keys become own properties of objects without a prototype. Byte arrays are views into `body`.
 *
 * @throws RangeError for anything else.
 */
export function decodePacket(body: Buffer): { id: number; isResponse: boolean; value: PacketValue } {
  let at = 0;
  let values = 0;
  const need = (length: number): number => {
    if (length > body.length - at) throw new RangeError('a value goes past the end of its packet');
    const start = at;
    at += length;
    return start;
  };
  const integer = (): number => body.readUInt32LE(need(4));
  const bytes = (): Buffer => {
    const length = integer();
    const start = need(length);
    return body.subarray(start, start + length);
  };
  const value = (depth: number): PacketValue => {
    if (depth > decodeLimits.depth) throw new RangeError('a packet nests too deep');
    if (++values > decodeLimits.values) throw new RangeError('a packet has too many values');
    const kind = body[need(1)];
    if (kind === tag.null) return null;
    if (kind === tag.boolean) return body[need(1)] !== 0;
    if (kind === tag.integer) return integer() | 0;
    if (kind === tag.string) return bytes().toString('utf8');
    if (kind === tag.bytes) return bytes();
    if (kind === tag.list) {
      const list: PacketValue[] = [];
      for (let count = integer(); count > 0; count--) list.push(value(depth + 1));
      return list;
    }
    if (kind === tag.map) {
      const map = Object.create(null) as { [key: string]: PacketValue };
      for (let count = integer(); count > 0; count--) {
        const key = bytes().toString('utf8');
        if (key in map) throw new RangeError('a map has a key twice');
        map[key] = value(depth + 1);
      }
      return map;
    }
    throw new RangeError('a value has an unknown tag');
  };
  const head = integer();
  const decoded = value(1);
  if (at !== body.length) throw new RangeError('a packet has bytes behind its value');
  return { id: head >>> 1, isResponse: (head & 1) === 1, value: decoded };
}
