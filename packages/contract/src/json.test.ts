import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonTextDepth, parseJson } from './json.ts';

const limits = { maxBytes: 1024 * 1024, maxDepth: 64 };
const parse = (text: string) => parseJson(text, limits);

it('gives what JSON.parse gives, for every value within the limits', () => {
  let objects = 0;
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const text = JSON.stringify(value);
      if (text.includes('{')) objects++;
      expect(parse(text)).toEqual({ ok: true, value: JSON.parse(text) });
    }),
    { seed: 7, numRuns: 500 },
  );
  expect(objects).toBeGreaterThan(50);
});

it('keeps __proto__ as an own key, and pollutes nothing', () => {
  const parsed = parse('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
  expect(parsed.ok && Object.keys(parsed.value as object)).toEqual(['__proto__', 'constructor']);
  expect(({} as { polluted?: number }).polluted).toBeUndefined();
});

describe('numbers', () => {
  it.each(['9007199254740993', '-9007199254740993', '12345678901234567890', `${'9'.repeat(309)}`, '1e400', '-1e309'])(
    'refuses %s, which a double cannot hold',
    (text) => {
      expect(parse(`[${text}]`)).toMatchObject({ ok: false, reason: 'unsafe-integer' });
    },
  );

  it.each([
    '9007199254740991',
    '9007199254740992',
    '1e308',
    '1152921504606847000',
    '0.1',
    '1e-400',
    '-0',
    '10000000000000000000000',
  ])('takes %s', (text) => {
    expect(parse(`[${text}]`)).toEqual({ ok: true, value: [Number(text)] });
  });

  it('refuses a million digits without working them out', () => {
    const started = performance.now();
    expect(parse('7'.repeat(1_000_000))).toMatchObject({ ok: false, reason: 'unsafe-integer' });
    // Working them out takes minutes; this is no measurement.
    expect(performance.now() - started).toBeLessThan(60_000);
  });
});

it('finds the numbers that asking each for its source finds, wherever they stand', () => {
  const digits = fc.stringMatching(/^-?(0|[1-9]\d{0,22})$/);
  const number = fc.oneof(
    digits,
    fc.stringMatching(/^-?(0|[1-9]\d{0,3})(\.\d{1,20})?([eE][+-]?\d{1,3})?$/),
    fc.constantFrom('9007199254740993', '9007199254740992', '1e400', '-1e-400', '0.1e310', '1E+0308'),
  );
  const text = fc
    .oneof(fc.string(), fc.constantFrom('9007199254740993', '\\"1e999', '[[[[', '\\', '"'))
    .map((s) => JSON.stringify(s));
  const members = fc.array(fc.tuple(text, fc.oneof(number, text, fc.constantFrom('[]', '{}', 'null', 'true'))));
  let refused = 0;
  let taken = 0;
  fc.assert(
    fc.property(members, (entries) => {
      const json = `[${entries.map(([key, value]) => `{${key}: ${value}}`).join(' ,')}]`;
      const reference = refusedBySource(json);
      const parsed = parse(json);
      expect([json, parsed.ok]).toEqual([json, !reference]);
      if (reference) refused++;
      else taken++;
    }),
    { seed: 11, numRuns: 2000 },
  );
  expect(Math.min(refused, taken)).toBeGreaterThan(200);
});

/** The same by a reviver, which is told each number's source. */
function refusedBySource(json: string): boolean {
  let refused = false;
  JSON.parse(json, (_key, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    if (typeof value !== 'number' || source === undefined || Number.isSafeInteger(value)) return value;
    if (!Number.isFinite(value)) refused = true;
    else if (/^-?\d+$/.test(source) && JSON.stringify(value) !== source && BigInt(source) !== BigInt(value))
      refused = true;
    return value;
  });
  return refused;
}

describe('limits', () => {
  it('counts bytes, not characters', () => {
    expect(parseJson('"ää"', { maxBytes: 6, maxDepth: 1 })).toMatchObject({ ok: true });
    expect(parseJson('"ää"', { maxBytes: 5, maxDepth: 1 })).toMatchObject({ ok: false, reason: 'too-large' });
  });

  it('refuses nesting before it parses', () => {
    expect(parse('['.repeat(64) + ']'.repeat(64))).toMatchObject({ ok: true });
    expect(parse('['.repeat(65) + ']'.repeat(65))).toMatchObject({ ok: false, reason: 'too-deep' });
    expect(parse('['.repeat(500_000))).toMatchObject({ ok: false, reason: 'too-deep' });
  });

  it.each([
    '[1',
    '[-]',
    '[1e]',
    '[1.2.3]',
    '[+1]',
    '[--1]',
    '[1-1]',
    '"1',
    '[',
    '01',
    '',
    '[1]]',
    '1e999-',
    '.',
    '- 1',
  ])('refuses %j as JSON.parse does', (text) => {
    expect(parse(text)).toMatchObject({ ok: false });
    expect(() => JSON.parse(text)).toThrow();
  });

  it('does not count brackets in strings', () => {
    expect(jsonTextDepth('["[[[[\\"[[", {"}": "{"}]')).toBe(2);
  });
});
