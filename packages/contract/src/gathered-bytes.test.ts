import { Readable } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GatheredBytes, gatherBody } from './gathered-bytes.ts';

describe('gathered bytes', () => {
  it('are what was added, less what was taken, whatever the parts', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.uint8Array({ maxLength: 9000 }), fc.nat(9000)), { maxLength: 20 }), (steps) => {
        const gathered = new GatheredBytes();
        let expected = Buffer.alloc(0);
        const taken: [Buffer, Buffer][] = [];
        for (const [part, wanted] of steps) {
          gathered.add(part);
          expected = Buffer.concat([expected, part]);
          const length = Math.min(wanted, expected.length);
          taken.push([gathered.take(length), expected.subarray(0, length)]);
          expected = expected.subarray(length);
          expect(gathered.length).toBe(expected.length);
          expect(gathered.bytes().equals(expected)).toBe(true);
        }
        // Also what was taken first, after all that came later.
        for (const [got, wanted] of taken) expect(got.equals(wanted)).toBe(true);
      }),
      { seed: 5 },
    );
  });

  it('of one byte each take no more than a few times their size', () => {
    const before = process.memoryUsage();
    const gathered = new GatheredBytes();
    for (let i = 0; i < 1_000_000; i++) gathered.add(Buffer.of(i));
    const after = process.memoryUsage();
    expect(gathered.length).toBe(1_000_000);
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(32 * 1024 * 1024);
  });
});

describe('a body', () => {
  const body = () => Readable.from([Buffer.from('abc'), Buffer.from('de')]);
  it('is gathered up to its limit and not beyond', async () => {
    expect((await gatherBody(body(), 5))?.toString()).toBe('abcde');
    expect(await gatherBody(body(), 4)).toBeUndefined();
    expect((await gatherBody(Readable.from([]), 0))?.length).toBe(0);
  });
});
