import type { Json } from '@glovebox/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { firstDifference } from './compare.ts';

const parse = (text: string): Json => JSON.parse(text) as Json;
const between = (expected: string, actual: string) => firstDifference(parse(expected), parse(actual));

describe('the first difference', () => {
  it.each([
    ['1', '2', '', 1, 2],
    ['null', '0', '', null, 0],
    ['"1"', '1', '', '1', 1],
    ['[]', '{}', '', [], {}],
    ['{"a":[1,2]}', '{"a":[1,3]}', '/a/1', 2, 3],
    ['{"a/b":{"c~d":1}}', '{"a/b":{"c~d":2}}', '/a~1b/c~0d', 1, 2],
    ['[1]', '[1,2]', '/1', undefined, 2],
    ['[1,2]', '[1]', '/1', 2, undefined],
    ['{"a":1}', '{}', '/a', 1, undefined],
    ['{}', '{"a":null}', '/a', undefined, null],
    ['{"a":null}', '{}', '/a', null, undefined],
    ['{"__proto__":{"x":1}}', '{}', '/__proto__', { x: 1 }, undefined],
    ['{}', '{"__proto__":{"x":1}}', '/__proto__', undefined, { x: 1 }],
    ['{"__proto__":{"x":1}}', '{"__proto__":{"x":2}}', '/__proto__/x', 1, 2],
    ['{"toString":1}', '{}', '/toString', 1, undefined],
    ['{}', '{"constructor":1}', '/constructor', undefined, 1],
  ])('of %s and %s is at "%s"', (expected, actual, path, wanted, found) => {
    expect(between(expected, actual)).toEqual({ path, expected: wanted, actual: found });
  });

  it.each([
    ['{"a":1,"b":2}', '{"b":2,"a":1}'],
    ['{"__proto__":{"x":[1]}}', '{"__proto__":{"x":[1]}}'],
    ['-0', '0'],
    ['1.0', '1'],
    ['"é"', '"\\u00e9"'],
  ])('is not there between %s and %s', (expected, actual) => {
    expect(between(expected, actual)).toBeUndefined();
  });

  it('is there exactly where the canonical texts differ, and its path leads to it', () => {
    let equal = 0;
    const value = fc.jsonValue({ maxDepth: 4 });
    fc.assert(
      fc.property(value, fc.oneof(value, fc.constant(undefined)), (a, other) => {
        const expected = parse(JSON.stringify(a));
        const actual = other === undefined ? parse(JSON.stringify(a)) : parse(JSON.stringify(other));
        const difference = firstDifference(expected, actual);
        const same = canonical(expected) === canonical(actual);
        if (same) equal++;
        expect(difference === undefined).toBe(same);
        if (difference === undefined) return;
        expect(valueAt(expected, difference.path)).toEqual(difference.expected);
        expect(valueAt(actual, difference.path)).toEqual(difference.actual);
      }),
      { seed: 5, numRuns: 500 },
    );
    expect(equal).toBeGreaterThan(100);
  });
});

/** Keys sorted, written by hand: no code of the product. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value === 0 ? 0 : value);
  const members = Object.keys(value)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonical(value[key] as Json)}`);
  return `{${members.join()}}`;
}

function valueAt(root: Json, pointer: string): Json | undefined {
  let value: Json | undefined = root;
  for (const segment of pointer.split('/').slice(1)) {
    const key = segment.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return undefined;
    value = (value as { [key: string]: Json })[key];
  }
  return value;
}
