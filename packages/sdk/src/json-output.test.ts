import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeJson, maxJsonDepth } from './json-output.ts';

const lots = 1024 * 1024;
const text = (value: unknown, maxBytes = lots): string => {
  const encoded = encodeJson(value, maxBytes);
  if (!encoded.ok) throw new Error(`${encoded.problem.place} ${encoded.problem.reason}`);
  return encoded.text;
};
const problem = (value: unknown, maxBytes = lots) => {
  const encoded = encodeJson(value, maxBytes);
  return encoded.ok ? undefined : encoded.problem;
};
const nested = (depth: number): unknown => {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = i % 2 === 0 ? [value] : { a: value };
  return value;
};

describe('writes', () => {
  it('what JSON.stringify writes, for every value that JSON.parse can give', () => {
    let deepest = 0;
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 12 }), (value) => {
        const plain = JSON.parse(JSON.stringify(value)) as unknown;
        deepest = Math.max(deepest, JSON.stringify(plain).split(/[[{]/).length - 1);
        const written = text(plain);
        expect(JSON.parse(written)).toEqual(plain);
        if (!/[\d]{17}/.test(written)) expect(written).toBe(JSON.stringify(plain));
      }),
      { seed: 20_260_101, numRuns: 2000 },
    );
    expect(deepest).toBeGreaterThan(5);
  });

  it('every double so that it is read as the same one', () => {
    let unsafe = 0;
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        if (Number.isInteger(number) && !Number.isSafeInteger(number)) unsafe++;
        expect(Object.is(JSON.parse(text(number)), number)).toBe(true);
      }),
      { seed: 1, numRuns: 5000 },
    );
    expect(unsafe).toBeGreaterThan(100);
  });

  it.each([
    [-0, '-0'],
    [0, '0'],
    [2 ** 53, '9007199254740992'],
    [2 ** 64, '18446744073709551616'],
    [-(2 ** 64), '-18446744073709551616'],
    [1e21, '1e+21'],
    [1.5e-7, '1.5e-7'],
    [null, 'null'],
    ['"\\\u0000\u2028é\ud800', '"\\"\\\\\\u0000\u2028é\\ud800"'],
    [{ toJSON: 1 }, '{"toJSON":1}'],
    [Object.create(null), '{}'],
    [JSON.parse('{"__proto__":{"a":1},"constructor":2}'), '{"__proto__":{"a":1},"constructor":2}'],
    [[[], {}, ''], '[[],{},""]'],
  ])('%s as %s', (value, expected) => {
    expect(text(value)).toBe(expected);
  });

  it('a value that is used twice, twice', () => {
    const shared = { a: [1] };
    expect(text([shared, shared, { b: shared }])).toBe('[{"a":[1]},{"a":[1]},{"b":{"a":[1]}}]');
  });

  it('levels up to its limit, and refuses the next', () => {
    expect(JSON.parse(text(nested(maxJsonDepth)))).toEqual(nested(maxJsonDepth));
    expect(problem(nested(maxJsonDepth + 1))?.reason).toContain('nested deeper');
  });

  it('a proxy of something plain', () => {
    expect(text(new Proxy({ a: new Proxy([1], {}) }, {}))).toBe('{"a":[1]}');
  });
});

class Money {
  amount = 1;
}
const hidden = Object.defineProperty({ a: 1 }, 'b', { value: 2, enumerable: false });
const holed = [1, 2, 3];
delete holed[1];
const cycle: { list: unknown[] } = { list: [] };
cycle.list.push({ again: cycle });
const many: { rows: unknown[]; self?: unknown } = { rows: Array.from({ length: 1000 }, () => 'row') };
many.self = many;

describe('refuses', () => {
  it.each<[string, unknown, string, string]>([
    ['undefined', undefined, '', 'is undefined'],
    ['undefined in an array', [1, undefined], '/1', 'is undefined'],
    ['undefined in an object', { a: { b: undefined } }, '/a/b', 'is undefined'],
    ['a hole', holed, '/1', 'is undefined'],
    ['a BigInt', { n: 1n }, '/n', 'a BigInt'],
    ['a symbol', [Symbol('s')], '/0', 'a symbol'],
    ['a function', { f: () => 1 }, '/f', 'a function'],
    ['NaN', [Number.NaN], '/0', 'NaN'],
    ['Infinity', { x: Number.NEGATIVE_INFINITY }, '/x', '-Infinity'],
    ['a Date', { at: new Date(0) }, '/at', 'an instance of Date'],
    ['a Map', new Map(), '', 'an instance of Map'],
    ['a Set', [new Set()], '/0', 'an instance of Set'],
    ['bytes', { b: new Uint8Array(2) }, '/b', 'an instance of Uint8Array'],
    ['a pattern', /x/, '', 'an instance of RegExp'],
    ['an Error', { e: new Error('x') }, '/e', 'an instance of Error'],
    ['a promise', { p: Promise.resolve() }, '/p', 'a Promise (is an await missing?)'],
    ['a boxed string', [new String('x')], '/0', 'an instance of String'],
    ['a class instance', { m: new Money() }, '/m', 'an instance of Money'],
    ['a subclass of Array', [new (class List extends Array {})()], '/0', 'an instance of List'],
    ['an object of another realm', runInNewContext('({})'), '', 'an instance of Object'],
    ['a key that is a symbol', { a: { [Symbol('s')]: 1 } }, '/a', 'that is a symbol'],
    ['a hidden property', [hidden], '/0', '"b"'],
    ['a match of a pattern', { m: /b/.exec('abc') }, '/m', '"index"'],
    ['a cycle', cycle, '/list/0/again', 'leads back'],
    ['a cycle behind much else', many, '/self', 'leads back'],
    ['toJSON', { a: { toJSON: () => 1 } }, '/a/toJSON', 'a function'],
    [
      'a getter that throws',
      {
        a: {
          get b() {
            throw new Error('x');
          },
        },
      },
      '/a/b',
      'threw',
    ],
    [
      'a proxy that throws',
      [
        new Proxy(
          {},
          {
            ownKeys() {
              throw new Error('x');
            },
          },
        ),
      ],
      '/0',
      'threw',
    ],
    [
      'a proxy that lies about its prototype',
      new Proxy({}, { getPrototypeOf: () => Date.prototype }),
      '',
      'an instance of',
    ],
    ['a key with / and ~', { 'a/b~c': { '': undefined } }, '/a~1b~0c/', 'is undefined'],
  ])('%s, naming the place', (_, value, place, reason) => {
    const found = problem(value);
    expect(found).toMatchObject({ kind: 'not-json', place });
    expect(found?.reason).toContain(reason);
  });

  it('100,000 levels and an endless proxy without exhausting the stack', () => {
    expect(problem(nested(100_000))?.reason).toContain('nested deeper');
    const endless: object = new Proxy(
      {},
      {
        ownKeys: () => ['a'],
        getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }),
        get: () => new Proxy({ a: 1 }, { get: () => endless }),
      },
    );
    expect(problem(endless)).toBeDefined();
  });

  it('an array that claims four thousand million elements at its first hole', () => {
    const sparse: number[] = [];
    sparse.length = 2 ** 32 - 1;
    expect(problem(sparse)).toMatchObject({ place: '/0' });
  });

  it('40 objects that would make a million million, soon', () => {
    let value: unknown = ['x'.repeat(10)];
    for (let i = 0; i < 40; i++) value = [value, value];
    expect(problem(value, 10_000)).toMatchObject({ kind: 'too-large' });
  });

  it('what is longer than its limit in UTF-8, and takes what just fits', () => {
    expect(text('é'.repeat(49), 100)).toHaveLength(51);
    expect(problem('é'.repeat(50), 100)).toMatchObject({ kind: 'too-large', place: '' });
    expect(problem('x'.repeat(99), 100)).toMatchObject({ kind: 'too-large' });
    expect(text('x'.repeat(98), 100)).toHaveLength(100);
  });

  it('nothing by a getter that changes its mind: each is read once', () => {
    let reads = 0;
    const value = {
      get a() {
        return reads++ === 0 ? 'plain' : 1n;
      },
    };
    expect(text(value)).toBe('{"a":"plain"}');
    expect(reads).toBe(1);
  });

  it('with a place of bounded length', () => {
    let value: unknown;
    for (let i = 0; i < 300; i++) value = { ['k'.repeat(300)]: value };
    expect(problem(value)?.place.length).toBeLessThanOrEqual(1000);
  });
});
