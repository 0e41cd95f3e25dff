import { GloveboxError } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import type { RunOptions } from '../support/engine.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();
const echo = {
  body: 'return ctx.input',
  manifest: { resources: { output: '16MiB', memory: '512MiB', timeout: '60s' } },
};

async function refusal(options: RunOptions, source = echo): Promise<GloveboxError> {
  const boots = cells().boots.length;
  const error: unknown = await cells()
    .run(source, options)
    .catch((thrown: unknown) => thrown);
  if (!GloveboxError.is(error)) throw new Error(`it was not refused: ${JSON.stringify(error)}`);
  expect(cells().boots.slice(boots)).not.toContain('run');
  return error;
}

describe('numbers', () => {
  it('that a double cannot hold are refused, with their digits, before any cell boots', async () => {
    for (const [text, digits] of [
      ['{"p_id":7615917337495251231}', '7615917337495251231'],
      ['[9007199254740993]', '9007199254740993'],
      ['-9007199254740993', '-9007199254740993'],
      ['{"a":{"b":[123456789012345678901234567890]}}', '123456789012345678901234567890'],
    ] as const) {
      const error = await refusal({ inputText: text });
      expect([error.code, error.message.includes(digits)]).toEqual(['INPUT_NOT_JSON', true]);
      expect((await refusal({ configText: text })).code).toBe('INPUT_NOT_JSON');
    }
  });

  it('that it can hold come back with the same digits', async () => {
    // Zero keeps its sign.
    const text = '[-0,9007199254740992,-9007199254740991,1152921504606846976,0.1,1e+21,5e-324,1.7976931348623157e+308]';
    const { run } = await cells().run(echo, { inputText: text });
    const stored = await cells().engine.store.get('default', run);
    expect(stored?.attempts.at(-1)?.end?.outputText).toBe(text);
    expect(stored?.run.inputText).toBe(text);
  });

  it('past 2^53 survive as text, and BigInt is refused with its place', async () => {
    const big = '7615917337495251231';
    expect((await cells().run(echo, { input: { p_id: big } })).output).toEqual({ p_id: big });
    const { error } = await cells().run(
      { body: `return { a: [{ p_id: BigInt(ctx.input.p_id) }] }` },
      { input: { p_id: big } },
    );
    expect(error).toMatchObject({ code: 'OUTPUT_NOT_JSON', place: { path: '/a/0/p_id' } });
  });
});

describe('an output that JSON has not is refused with its place:', () => {
  it.each([
    ['a BigInt', 'return { a: 1n }', '/a'],
    ['a Date', 'return { when: [new Date(0)] }', '/when/0'],
    ['a Map', 'return { a: { b: new Map() } }', '/a/b'],
    ['a Set', 'return [new Set()]', '/0'],
    ['NaN', 'return { a: NaN }', '/a'],
    ['Infinity', 'return [1, [2, -Infinity]]', '/1/1'],
    ['undefined in an object', 'return { a: undefined }', '/a'],
    ['undefined in an array', 'return [1, undefined]', '/1'],
    ['a hole', 'return [1, , 3]', '/1'],
    ['a function', 'return { f() {} }', '/f'],
    ['a symbol', 'return { s: Symbol("x") }', '/s'],
    ['a key that is a symbol', 'return { [Symbol("x")]: 1 }', ''],
    ['a cycle', 'const a = { b: {} }; a.b.c = a; return a', '/b/c'],
    ['a cycle of arrays', 'const a = []; a.push([a]); return a', '/0/0'],
    ['bytes', 'return { bytes: new Uint8Array(2) }', '/bytes'],
    ['an Error', 'return { error: new Error("x") }', '/error'],
    ['an instance', 'class A { x = 1 } return { a: new A() }', '/a'],
    ['a boxed value', 'return { a: new String("x") }', '/a'],
    ['a promise inside', 'return { a: Promise.resolve(1) }', '/a'],
    ['a getter that throws', 'return { get a() { throw new Error("x") } }', '/a'],
    ['keys with slashes and tildes', 'return { "a/b": { "c~d": 1n } }', '/a~1b/c~0d'],
    ['nothing at all', '', ''],
  ])('%s', async (_, body, path) => {
    const { state, error, output } = await cells().run({ body });
    expect({ state, code: error?.code, path: error?.place?.path ?? '', output }).toEqual({
      state: 'FAILED',
      code: 'OUTPUT_NOT_JSON',
      path,
      output: null,
    });
  });

  it('and what has a plain form comes through: null, nesting, empty things, toJSON as data', async () => {
    const value = { a: null, b: [], c: {}, d: '', e: false, f: 0, g: [[[{}]]], toJSON: 'data' };
    expect((await cells().run(echo, { input: value })).output).toEqual(value);
    expect((await cells().run({ body: 'return null' })).output).toBeNull();
    expect((await cells().run({ body: 'return Object.assign(Object.create(null), { a: 1 })' })).output).toEqual({
      a: 1,
    });
  });
});

describe('text', () => {
  it('of every kind comes back as it was: NUL, separators, astral, combining, right to left', async () => {
    const text = [
      '\u0000',
      '\u2028\u2029',
      '😀',
      'e\u0301',
      'שלום',
      '\u202e',
      '\ufeff',
      '\u007f\u0080',
      '\uffff',
      '\\"\\n',
    ];
    const value = { list: text, keys: Object.fromEntries(text.map((key, i) => [key, i])) };
    const { output, run, state } = await cells().run(echo, { input: value });
    expect(state).toBe('SUCCEEDED');
    expect(output).toEqual(value);
    const stored = await cells().engine.store.get('default', run);
    expect(JSON.parse(stored?.attempts.at(-1)?.end?.outputText ?? '')).toEqual(value);
  });

  it('with half a surrogate pair survives as such, or is refused, and is never changed', async () => {
    const lone = '"a\\ud800b"';
    const outcome = await cells()
      .run(echo, { inputText: lone })
      .catch((thrown: unknown) => thrown);
    if (GloveboxError.is(outcome)) expect(outcome.code).toBe('INPUT_NOT_JSON');
    else expect((outcome as { output: unknown }).output).toBe('a\ud800b');
    const made = await cells().run({ body: `return 'a' + String.fromCharCode(0xdc00) + 'b'` });
    if (made.state === 'SUCCEEDED') expect(made.output).toBe('a\udc00b');
    else expect(made.error?.code).toBe('OUTPUT_NOT_JSON');
  });

  it('of templates is data', async () => {
    const value = [
      '{{7*7}}',
      ['$', '{7*7}'].join(''),
      '=1+1',
      '<%=7%>',
      '$(touch x)',
      '`id`',
      '%s%n',
      '../../x',
      '{"$ref":"#"}',
    ];
    expect((await cells().run(echo, { input: value })).output).toEqual(value);
  });
});

describe('large values', () => {
  it('of 15 MiB come in and go out within the limits', async () => {
    const text = 'ü'.repeat((15 << 20) / 2);
    const { output, peaks, state } = await cells().run(echo, { input: text });
    expect(state).toBe('SUCCEEDED');
    expect(output === text).toBe(true);
    expect(peaks.outputBytes).toBe((15 << 20) + 2);
  });

  it('of many small parts do, too', async () => {
    const rows = Array.from({ length: 61_357 }, (_, i) => ({ i, name: `row ${i}`, even: i % 2 === 0 }));
    const { output } = await cells().run(echo, { input: rows });
    expect(JSON.stringify(output) === JSON.stringify(rows)).toBe(true);
  });

  it('over a limit are refused by name: input before a cell, output by the cell', async () => {
    const error = await refusal({ inputText: JSON.stringify('x'.repeat(16 << 20)) });
    expect(error).toMatchObject({ code: 'INPUT_NOT_JSON', place: { path: '/input' } });
    const over = await cells().run({ body: `return 'x'.repeat(256 * 1024)` });
    expect(over).toMatchObject({ state: 'OUTPUT_TOO_LARGE', error: { code: 'OUTPUT_TOO_LARGE' }, output: null });
    const within = await cells().run({ body: `return 'x'.repeat(256 * 1024 - 2)` });
    expect(within.state).toBe('SUCCEEDED');
  });
});
