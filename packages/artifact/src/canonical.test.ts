import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from './canonical.ts';

describe('canonical JSON', () => {
  it('is the text of the example in RFC 8785', () => {
    const value = JSON.parse(
      '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}',
    );
    expect(canonicalJson(value)).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('sorts keys by UTF-16 code unit and keeps __proto__ as data', () => {
    const high = String.fromCharCode(0xfb33);
    const value: unknown = JSON.parse(`{"${high}":1,"\u{1f600}":2,"b":3,"__proto__":{"a":1},"B":4}`);
    expect(canonicalJson(value)).toBe(`{"B":4,"__proto__":{"a":1},"b":3,"\u{1f600}":2,"${high}":1}`);
  });

  it('says the same of a value in whatever order its keys were set, and loses nothing', () => {
    let nested = 0;
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), (raw) => {
        // -0 is 0 in JSON's canonical form.
        const value: unknown = JSON.parse(JSON.stringify(raw));
        if (typeof value === 'object' && value !== null) nested++;
        const text = canonicalJson(value);
        expect(JSON.parse(text)).toEqual(value);
        expect(canonicalJson(reversed(value))).toBe(text);
      }),
      { seed: 1, numRuns: 300 },
    );
    expect(nested).toBeGreaterThan(50);
  });

  const cycle: unknown[] = [1];
  cycle.push(cycle);
  const holes = [1];
  holes[2] = 3;
  it.each([
    ['undefined', { a: { 'b/c': undefined } }, '/a/b~1c'],
    ['undefined in a list', [1, undefined], '/1'],
    ['a function', [() => 1], '/0'],
    ['a symbol', Symbol('x'), ''],
    ['a big integer', { n: 1n }, '/n'],
    ['NaN', [Number.NaN], '/0'],
    ['infinity', [Number.NEGATIVE_INFINITY], '/0'],
    ['a date', { at: new Date(0) }, '/at'],
    ['a map', new Map(), ''],
    ['a boxed string', [Object('x')], '/0'],
    ['bytes', [new Uint8Array(2)], '/0'],
    ['a list with a hole', holes, '/1'],
    ['a cycle', cycle, '/1'],
    ['half a surrogate pair', ['\ud800'], '/0'],
    ['half a surrogate pair in a key', { '\udc00': 1 }, ''],
    ['a symbol as key', { [Symbol('x')]: 1 }, ''],
    ['an object that serialises itself', { toJSON: () => 1 }, '/toJSON'],
  ])('refuses %s and names the place', (_what, value, path) => {
    expect(() => canonicalJson(value)).toThrow(expect.objectContaining({ code: 'INTERNAL', place: { path } }));
  });

  it('takes one object in two places, which is no cycle', () => {
    const shared = { a: 1 };
    expect(canonicalJson([shared, shared])).toBe('[{"a":1},{"a":1}]');
  });
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, member]) => [key, reversed(member)]),
  );
}
