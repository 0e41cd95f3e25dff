import { versionSchema } from '@glovebox/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isPrerelease, versionKey } from './version-key.ts';

/** Precedence as semver 2.0.0 section 11 words it. */
function precedence(a: string, b: string): number {
  const [[coreA, preA], [coreB, preB]] = [split(a), split(b)];
  for (let i = 0; i < 3; i++) {
    const difference = Number(coreA[i]) - Number(coreB[i]);
    if (difference !== 0) return Math.sign(difference);
  }
  if (preA === undefined || preB === undefined) return Number(preA === undefined) - Number(preB === undefined);
  for (let i = 0; i < Math.min(preA.length, preB.length); i++) {
    const [one, two] = [preA[i] ?? '', preB[i] ?? ''];
    const [oneIsNumber, twoIsNumber] = [/^\d+$/.test(one), /^\d+$/.test(two)];
    if (oneIsNumber !== twoIsNumber) return oneIsNumber ? -1 : 1;
    const order = oneIsNumber ? Math.sign(Number(one) - Number(two)) : one < two ? -1 : one > two ? 1 : 0;
    if (order !== 0) return order;
  }
  return Math.sign(preA.length - preB.length);
}

function split(version: string): [string[], string[] | undefined] {
  const dash = version.indexOf('-');
  return dash === -1
    ? [version.split('.'), undefined]
    : [version.slice(0, dash).split('.'), version.slice(dash + 1).split('.')];
}

const number = fc.oneof(
  fc.constantFrom(0, 1, 2, 9, 10, 99, 100, 999_999_999),
  fc.integer({ min: 0, max: 999_999_999 }),
);
const identifier = fc.oneof(
  number.map(String),
  fc.stringMatching(/^[0-9A-Za-z-]{1,8}$/),
  fc.constantFrom('alpha', 'alpha1', 'alpha-1', 'beta', 'rc', 'a', 'A', '-', '0a', '1-'),
);
const version = fc
  .record({
    core: fc.tuple(fc.integer({ min: 0, max: 2 }), number, fc.integer({ min: 0, max: 2 })),
    prerelease: fc.option(fc.array(identifier, { minLength: 1, maxLength: 4 })),
  })
  .map(({ core, prerelease }) => `${core.join('.')}${prerelease === null ? '' : `-${prerelease.join('.')}`}`)
  .filter((text) => versionSchema.safeParse(text).success);

describe('the key of a version', () => {
  it('sorts as semver does', () => {
    const ascending = [
      '0.0.0-0',
      '0.0.0',
      '0.0.9',
      '0.0.10',
      '0.9.0',
      '0.10.0',
      '1.0.0-0',
      '1.0.0-2',
      '1.0.0-10',
      '1.0.0--',
      '1.0.0-ALPHA',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.beta',
      '1.0.0-alpha-1',
      '1.0.0-alpha1',
      '1.0.0-beta',
      '1.0.0-beta.2',
      '1.0.0-beta.11',
      '1.0.0-rc.1',
      '1.0.0',
      '1.0.1-0',
      '2.0.0',
      '10.0.0',
      '999999999.0.0',
    ];
    expect([...ascending].reverse().sort((a, b) => (versionKey(a) < versionKey(b) ? -1 : 1))).toEqual(ascending);
  });

  it('sorts any two versions of the contract as semver does, and is the same only for the same', () => {
    const seen = { [-1]: 0, 0: 0, 1: 0 };
    fc.assert(
      fc.property(version, version, (a, b) => {
        const [keyA, keyB] = [versionKey(a), versionKey(b)];
        const order = precedence(a, b) as -1 | 0 | 1;
        seen[order]++;
        expect({ a, b, order: keyA < keyB ? -1 : keyA > keyB ? 1 : 0 }).toEqual({ a, b, order });
        expect(keyA === keyB).toBe(a === b);
      }),
      { seed: 20_261_130, numRuns: 3000, examples: [['1.0.0', '1.0.0']] },
    );
    expect(Math.min(seen[-1], seen[0], seen[1])).toBeGreaterThan(0);
  });

  it.each([
    '',
    '1',
    '1.0',
    '1.0.0.0',
    '1.0.x',
    '01.0.0',
    '1.0.0-',
    '1.0.0-a..b',
    '1.0.0-01',
    '1.0.0+a',
    '1.0.0-a b',
    '1234567890.0.0',
  ])('is refused to %j', (text) => {
    expect(versionSchema.safeParse(text).success).toBe(false);
    expect(() => versionKey(text)).toThrow(expect.objectContaining({ code: 'INTERNAL' }));
  });
});

it('tells prereleases from releases', () => {
  expect(['1.0.0', '1.0.0-rc.1', '1.0.0--'].map(isPrerelease)).toEqual([false, true, true]);
});
