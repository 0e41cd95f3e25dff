import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeForLog } from './log-fields.ts';

it('gives JSON text for anything, and never throws', () => {
  fc.assert(
    fc.property(
      fc.anything({
        withBigInt: true,
        withDate: true,
        withMap: true,
        withSparseArray: true,
        withTypedArray: true,
        withObjectString: true,
        withNullPrototype: true,
      }),
      (value) => {
        expect(() => JSON.parse(encodeForLog(value))).not.toThrow();
      },
    ),
    { seed: 7, numRuns: 2000 },
  );
  const revoked = Proxy.revocable({}, {});
  revoked.revoke();
  for (const hostile of [
    revoked.proxy,
    new Proxy(
      {},
      {
        get() {
          throw new Error('x');
        },
        ownKeys() {
          throw new Error('x');
        },
      },
    ),
    {
      get a() {
        throw new Error('x');
      },
    },
    Object.create(null),
  ]) {
    expect(() => JSON.parse(encodeForLog(hostile))).not.toThrow();
  }
});

it('keeps plain JSON as it is', () => {
  const value = { a: [1, 'two', null, true, { b: {} }], c: -1.5 };
  expect(JSON.parse(encodeForLog(value))).toEqual(value);
});

it('is bounded in length, depth and width, and says what it left out', () => {
  const cycle: Record<string, unknown> = {};
  cycle.self = cycle;
  expect(encodeForLog(cycle)).toContain('"[…]"');
  expect(encodeForLog(Array.from({ length: 1000 }, () => 1))).toContain('[800 more]');
  expect(encodeForLog('x'.repeat(10_000))).toContain('(5904 more)');
  const wide = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`key${i}`, 'y'.repeat(1000)]));
  expect(encodeForLog(wide).length).toBeLessThan(40_000);
});
