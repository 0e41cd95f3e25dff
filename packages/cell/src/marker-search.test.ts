import { expect, it } from 'vitest';
import { MarkerSearch } from './marker-search.ts';

/** Cut `bytes` where told, look in the pieces, and put what comes out together. */
function search(bytes: Uint8Array, marker: Uint8Array, cuts: readonly number[]): { before: string; after?: string } {
  const searcher = new MarkerSearch(marker);
  const before: Uint8Array[] = [];
  const ends = [...cuts, bytes.length];
  for (const [i, end] of ends.entries()) {
    const found = searcher.take(bytes.subarray(i === 0 ? 0 : ends[i - 1], end));
    before.push(...found.before);
    if (found.after === undefined) continue;
    const after = Buffer.concat([found.after, bytes.subarray(end)]);
    return { before: Buffer.concat(before).toString('latin1'), after: after.toString('latin1') };
  }
  return { before: Buffer.concat([...before, searcher.held()]).toString('latin1') };
}

/** What must come out, by a search in the whole. */
function expected(bytes: Buffer, marker: Buffer): { before: string; after?: string } {
  const at = bytes.indexOf(marker);
  if (at < 0) return { before: bytes.toString('latin1') };
  return {
    before: bytes.toString('latin1', 0, at),
    after: bytes.toString('latin1', at + marker.length),
  };
}

it.each([
  ['m', 'm'],
  ['marker', 'marker'],
  ['before marker after', 'marker'],
  ['mamarmarkmarkemarkermarker', 'marker'],
  ['aaaaaab', 'aab'],
  ['abcabcabdabcabcabd', 'abcabd'],
  ['aabaaabaab', 'aabaab'],
  ['only a beginning: mark', 'marker'],
  ['nothing of it', '\0\0'],
])('finds in %j what it looks for, wherever the chunks end', (text, marker) => {
  const bytes = Buffer.from(text);
  const wanted = expected(bytes, Buffer.from(marker));
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++) {
      expect(search(bytes, Buffer.from(marker), [first, second]), `cut at ${first} and ${second}`).toEqual(wanted);
    }
  }
  const everyByte = Array.from(bytes.keys());
  expect(search(bytes, Buffer.from(marker), everyByte)).toEqual(wanted);
});

it('comes to what a search in the whole finds, for many bytes that nearly fit', () => {
  let state = 7;
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
  let found = 0;
  for (let round = 0; round < 3000; round++) {
    const marker = Buffer.from(Array.from({ length: 1 + random(6) }, () => random(2)));
    const bytes = Buffer.from(Array.from({ length: random(40) }, () => random(2)));
    const cuts = Array.from({ length: random(5) }, () => random(bytes.length + 1)).sort((a, b) => a - b);
    const wanted = expected(bytes, marker);
    expect(search(bytes, marker, cuts)).toEqual(wanted);
    if (wanted.after !== undefined) found++;
  }
  expect(found).toBeGreaterThan(500);
  expect(found).toBeLessThan(2900);
});

it('hands bytes on as views and keeps none', () => {
  const chunk = Buffer.alloc(64 * 1024, 'x');
  const { before } = new MarkerSearch(Buffer.from('marker')).take(chunk);
  expect(before).toHaveLength(1);
  expect(before[0]?.buffer).toBe(chunk.buffer);
});

it('refuses to look for nothing', () => {
  expect(() => new MarkerSearch(new Uint8Array(0))).toThrow(TypeError);
});
