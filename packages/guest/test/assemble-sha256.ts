/**
 * Makes the WebAssembly module of the harness's sha256.ts: FIPS 180-4, one function over whole blocks. Tests compare what
 * it makes with what is checked in.
 *
 * Memory, one page: constants K at 0, message schedule W at 256, state H at 512, blocks from 1024 on. Numbers are
 * little-endian in memory; the blocks, as they come, are big-endian.
 */

type Code = readonly number[];

const scheduleAt = 256;
const stateAt = 512;

const unsigned = (value: number): number[] => {
  const bytes: number[] = [];
  for (let rest = value >>> 0; ; rest >>>= 7) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest & 127) | 128);
  }
};
const signed = (value: number): number[] => {
  const bytes: number[] = [];
  for (let rest = value | 0; ; rest >>= 7) {
    const low = rest & 127;
    if ((rest >> 7 === 0 && (low & 64) === 0) || (rest >> 7 === -1 && (low & 64) !== 0)) return [...bytes, low];
    bytes.push(low | 128);
  }
};

const constant = (value: number): Code => [0x41, ...signed(value)];
const get = (local: number): Code => [0x20, ...unsigned(local)];
const set = (local: number, value: Code): Code => [...value, 0x21, ...unsigned(local)];
const binary =
  (opcode: number) =>
  (first: Code, ...rest: Code[]): Code => [...first, ...rest.flatMap((operand) => [...operand, opcode])];
const add = binary(0x6a);
const sub = binary(0x6b);
const and = binary(0x71);
const or = binary(0x72);
const xor = binary(0x73);
const isBelow = binary(0x49);
const shiftRight = (value: Code, bits: number): Code => [...value, ...constant(bits), 0x76];
const rotateLeft = (value: Code, bits: number): Code => [...value, ...constant(bits), 0x77];
const rotateRight = (value: Code, bits: number): Code => [...value, ...constant(bits), 0x78];
const load = (address: Code, offset: number): Code => [...address, 0x28, 2, ...unsigned(offset)];
const store = (address: Code, offset: number, value: Code): Code => [
  ...address,
  ...value,
  0x36,
  2,
  ...unsigned(offset),
];
/** Do `body`, and again as long as `condition` then holds. */
const repeatWhile = (condition: Code, body: Code): Code => [0x03, 0x40, ...body, ...condition, 0x0d, 0, 0x0b];

const section = (id: number, content: Code): Code => [id, ...unsigned(content.length), ...content];
const vector = (...items: Code[]): Code => [...unsigned(items.length), ...items.flat()];
const name = (text: string): Code => vector(...[...text].map((c) => [c.charCodeAt(0)]));

const i32 = 0x7f;
/** Parameters: address of the first block, how many. */
const [block, count] = [0, 1];
/** A byte offset into K and W; the eight working variables; the two sums of a round. */
const [at, t1, t2] = [2, 11, 12];
const [a, b, c, d, e, f, g, h] = [3, 4, 5, 6, 7, 8, 9, 10];
const working = [a, b, c, d, e, f, g, h];

const bigEndian = (value: Code): Code =>
  or(and(rotateLeft(value, 8), constant(0x00ff00ff)), and(rotateRight(value, 8), constant(0xff00ff00)));
const sigma = (value: Code, x: number, y: number, z: number): Code =>
  xor(rotateRight(value, x), rotateRight(value, y), rotateRight(value, z));
const scheduleSigma = (value: Code, x: number, y: number, shift: number): Code =>
  xor(rotateRight(value, x), rotateRight(value, y), shiftRight(value, shift));

const earlier = (words: number): Code => load(sub(get(at), constant(words * 4)), scheduleAt);

const oneBlock: Code = [
  ...set(at, constant(0)),
  ...repeatWhile(isBelow(get(at), constant(64)), [
    ...store(get(at), scheduleAt, bigEndian(load(add(get(block), get(at)), 0))),
    ...set(at, add(get(at), constant(4))),
  ]),
  ...repeatWhile(isBelow(get(at), constant(256)), [
    ...store(
      get(at),
      scheduleAt,
      add(earlier(16), scheduleSigma(earlier(15), 7, 18, 3), earlier(7), scheduleSigma(earlier(2), 17, 19, 10)),
    ),
    ...set(at, add(get(at), constant(4))),
  ]),
  ...working.flatMap((variable, i) => set(variable, load(constant(0), stateAt + 4 * i))),
  ...set(at, constant(0)),
  ...repeatWhile(isBelow(get(at), constant(256)), [
    ...set(
      t1,
      add(
        get(h),
        sigma(get(e), 6, 11, 25),
        xor(and(get(e), get(f)), and(xor(get(e), constant(-1)), get(g))),
        load(get(at), 0),
        load(get(at), scheduleAt),
      ),
    ),
    ...set(t2, add(sigma(get(a), 2, 13, 22), xor(and(get(a), get(b)), and(get(a), get(c)), and(get(b), get(c))))),
    ...set(h, get(g)),
    ...set(g, get(f)),
    ...set(f, get(e)),
    ...set(e, add(get(d), get(t1))),
    ...set(d, get(c)),
    ...set(c, get(b)),
    ...set(b, get(a)),
    ...set(a, add(get(t1), get(t2))),
    ...set(at, add(get(at), constant(4))),
  ]),
  ...working.flatMap((variable, i) =>
    store(constant(0), stateAt + 4 * i, add(load(constant(0), stateAt + 4 * i), get(variable))),
  ),
];

const allBlocks: Code = [
  ...repeatWhile(get(count), [
    ...oneBlock,
    ...set(block, add(get(block), constant(64))),
    ...set(count, sub(get(count), constant(1))),
  ]),
  0x0b,
];

/** The first 32 bits of the fractional parts of the `root`-th roots of the first `n` primes, as bytes of memory. */
function fractions(n: number, root: 2n | 3n): number[] {
  const bytes: number[] = [];
  for (let candidate = 2n, found = 0; found < n; candidate++) {
    let divisor = 2n;
    while (divisor * divisor <= candidate && candidate % divisor !== 0n) divisor++;
    if (divisor * divisor <= candidate) continue;
    found++;
    // floor(root(candidate) · 2^32), by bisection in whole numbers.
    let low = 0n;
    let high = candidate << 32n;
    const target = candidate << (32n * root);
    while (high - low > 1n) {
      const middle = (low + high) / 2n;
      if (middle ** root <= target) low = middle;
      else high = middle;
    }
    const word = Number(low & 0xffff_ffffn);
    bytes.push(word & 255, (word >>> 8) & 255, (word >>> 16) & 255, word >>> 24);
  }
  return bytes;
}

export function assembleSha256(): Uint8Array {
  const body: Code = [...vector([...unsigned(11), i32]), ...allBlocks];
  const data = (offset: number, bytes: number[]): Code => [
    0,
    ...constant(offset),
    0x0b,
    ...unsigned(bytes.length),
    ...bytes,
  ];
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    ...section(1, vector([0x60, ...vector([i32], [i32]), ...vector()])),
    ...section(3, vector([0])),
    ...section(5, vector([0x01, 1, 1])),
    ...section(7, vector([...name('memory'), 0x02, 0], [...name('blocks'), 0x00, 0])),
    ...section(10, vector([...unsigned(body.length), ...body])),
    ...section(11, vector(data(0, fractions(64, 3n)), data(stateAt, fractions(8, 2n)))),
  ]);
}
