import { GloveboxError } from '@glovebox/contract';
import { afterAll, describe, expect, it } from 'vitest';
import type { RunOptions } from '../support/engine.ts';
import type { NodeSource } from '../support/node-package.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();
const deep = (n: number, open = '[', close = ']', inner = ''): string => open.repeat(n) + inner + close.repeat(n);

/** How it ended: a code of the catalogue, or the state of the run. Anything untyped fails the test. */
async function endOf(source: NodeSource, options: RunOptions = {}): Promise<string> {
  try {
    const { state, error } = await cells().run(source, options);
    return error?.code ?? state;
  } catch (thrown) {
    if (!GloveboxError.is(thrown)) throw thrown;
    expect(thrown.message.length).toBeLessThan(2000);
    return thrown.code;
  }
}

/** After them the same engine still does its work. */
const stillWorks = async (): Promise<void> => {
  expect(await endOf({ body: 'return [[[[[]]]]]' })).toBe('SUCCEEDED');
};

const fine: NodeSource = { body: 'return ctx.input' };
const withInput = (input: object, extra: object = {}): NodeSource => ({
  body: 'return 1',
  manifest: { input, ...extra },
});

describe('a source that is made to hurt its reader ends typed:', () => {
  afterAll(stillWorks);
  it.each<[string, NodeSource, RegExp]>([
    ['50,000 nested brackets', { body: `return ${deep(50_000)}` }, /^(BUILD_FAILED|NODE_LOAD_FAILED)$/],
    [
      '1,900,000 open brackets',
      { body: `return ${'['.repeat(1_900_000)}` },
      /^(BUILD_FAILED|BUILD_OUT_OF_MEMORY|BUILD_TIMED_OUT)$/,
    ],
    ['50,000 nested parentheses', { body: `return ${deep(50_000, '(', ')', '1')}` }, /^(BUILD_FAILED|SUCCEEDED)$/],
    [
      '50,000 nested templates',
      { body: `return ${deep(50_000, '`${', '}`', '1')}` },
      /^(BUILD_FAILED|NODE_LOAD_FAILED)$/,
    ],
    [
      '50,000 nested types',
      { body: 'return 1', top: `type T = ${deep(50_000, 'Array<', '>', '1')};` },
      /^(BUILD_FAILED|SUCCEEDED)$/,
    ],
    [
      '50,000 unary operators',
      { body: `return ${'- '.repeat(50_000)}1` },
      /^(BUILD_FAILED|NODE_LOAD_FAILED|SUCCEEDED)$/,
    ],
    [
      'a sum of 100,000 terms',
      { body: `return ${'1+'.repeat(100_000)}1` },
      /^(BUILD_FAILED|NODE_LOAD_FAILED|NODE_FAILED|SUCCEEDED)$/,
    ],
    [
      'a pattern of 50,000 groups',
      { body: `return /${deep(50_000, '(', ')', 'a')}/.test('a')` },
      /^(BUILD_FAILED|NODE_LOAD_FAILED|NODE_FAILED|CRASHED|NODE_CRASHED)$/,
    ],
    ['one line of 40 MB', { body: `return '${'x'.repeat(40 << 20)}'` }, /^PACKAGE_INVALID$/],
    ['one line of 2 MB', { body: `return '${'x'.repeat(2 * 1000 * 1000)}'.length`, manifest: {} }, /^SUCCEEDED$/],
    ['an import cycle of 200 files', cycle(200), /^SUCCEEDED$/],
  ])('%s', async (_, source, code) => {
    expect(await endOf(source)).toMatch(code);
  });
});

function cycle(length: number): NodeSource {
  const files: Record<string, string> = {};
  for (let i = 0; i < length; i++)
    files[`src/f${i}.ts`] = `export * from './f${(i + 1) % length}.ts'; export const v${i} = ${i};`;
  return { top: `import { v${length - 1} } from './f0.ts';`, body: `return v${length - 1}`, files };
}

describe('an input that is made to hurt its reader ends typed:', () => {
  afterAll(stillWorks);
  it.each<[string, string, RegExp]>([
    ['50,000 nested arrays', deep(50_000), /^INPUT_NOT_JSON$/],
    ['50,000 nested objects', deep(50_000, '{"a":', '}', '1'), /^INPUT_NOT_JSON$/],
    ['1,000,000 open brackets', '['.repeat(1_000_000), /^INPUT_NOT_JSON$/],
    ['128 nested arrays', deep(128), /^SUCCEEDED$/],
    ['17 MiB', JSON.stringify('x'.repeat(17 << 20)), /^INPUT_NOT_JSON$/],
    ['a number of 1,000,000 digits', '9'.repeat(1_000_000), /^INPUT_NOT_JSON$/],
    ['an exponent past all numbers', '1e999', /^INPUT_NOT_JSON$/],
    ['100,000 keys', `{${Array.from({ length: 100_000 }, (_, i) => `"k${i}":0`).join()}}`, /^OUTPUT_TOO_LARGE$/],
    ['the same key twice', '{"a":1,"a":2}', /^INPUT_(NOT_JSON|INVALID)$/],
    ['a byte order mark', '\ufeff{}', /^INPUT_NOT_JSON$/],
    ['something after it', '{} {}', /^INPUT_NOT_JSON$/],
    ['nothing', '', /^INPUT_NOT_JSON$/],
  ])('%s', async (_, inputText, code) => {
    expect(await endOf(fine, { inputText })).toMatch(code);
  });
});

describe('a manifest that is made to hurt its reader ends typed:', () => {
  afterAll(stillWorks);
  const cyclic = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } };
  const tree = { $ref: '#/$defs/t', $defs: { t: { type: 'array', items: { $ref: '#/$defs/t' } } } };
  const bomb = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [`d${i}`, { allOf: Array(10).fill({ $ref: `#/$defs/d${i + 1}` }) }]),
  );
  it.each<[string, NodeSource, RunOptions, RegExp]>([
    ['a schema whose references go in a circle', withInput(cyclic), {}, /^(PACKAGE_INVALID|SCHEMA_TOO_COSTLY)$/],
    ['a schema of itself, and a value that fits', withInput(tree), { inputText: deep(100) }, /^SUCCEEDED$/],
    [
      'references that multiply',
      withInput({ $ref: '#/$defs/d0', $defs: { ...bomb, d30: {} } }),
      {},
      /^(PACKAGE_INVALID|SCHEMA_TOO_COSTLY)$/,
    ],
    ['a schema 1,000 deep', withInput(JSON.parse(deep(1000, '{"not":', '}', '{}')) as object), {}, /^PACKAGE_INVALID$/],
    ['a remote reference', withInput({ $ref: 'https://example.com/schema.json' }), {}, /^PACKAGE_INVALID$/],
    [
      'a pattern that backtracks',
      withInput({ type: 'string', pattern: '^(a+)+$' }),
      { input: `${'a'.repeat(50_000)}!` },
      /^INPUT_INVALID$/,
    ],
    [
      'a pattern of 50,000 groups',
      withInput({ type: 'string', pattern: deep(20_000, '(', ')', 'a') }),
      { input: 'a' },
      /^(PACKAGE_INVALID|SCHEMA_TOO_COSTLY)$/,
    ],
    [
      'a pattern that counts to a billion',
      withInput({ type: 'string', pattern: '(a{1000}){1000}{1000}' }),
      { input: 'a' },
      /^(PACKAGE_INVALID|SCHEMA_TOO_COSTLY)$/,
    ],
    ['node.json 50,000 deep', { ...fine, files: { 'node.json': deep(50_000) } }, {}, /^PACKAGE_INVALID$/],
    [
      'node.json of 300 KiB',
      { ...fine, files: { 'node.json': `{"title":"${'x'.repeat(300 << 10)}"}` } },
      {},
      /^PACKAGE_INVALID$/,
    ],
    [
      'package.json 50,000 deep',
      { ...fine, files: { 'package.json': deep(50_000, '{"a":', '}', '1') } },
      {},
      /^PACKAGE_INVALID$/,
    ],
    [
      'package-lock.json 50,000 deep',
      { ...fine, files: { 'package-lock.json': deep(50_000, '{"packages":', '}', '1') } },
      {},
      /^(PACKAGE_INVALID|SUCCEEDED)$/,
    ],
  ])('%s', async (_, source, options, code) => {
    expect(await endOf(source, options)).toMatch(code);
  });
});

describe('an output that is made to hurt its reader ends typed:', () => {
  afterAll(stillWorks);
  it.each<[string, string, RegExp]>([
    ['50,000 nested arrays', 'let v = []; for (let i = 0; i < 50000; i++) v = [v]; return v', /^OUTPUT_NOT_JSON$/],
    ['128 nested arrays', 'let v = []; for (let i = 1; i < 128; i++) v = [v]; return v', /^SUCCEEDED$/],
    ['129 nested arrays', 'let v = []; for (let i = 1; i < 129; i++) v = [v]; return v', /^OUTPUT_NOT_JSON$/],
    ['objects that multiply', 'let v = [1]; for (let i = 0; i < 40; i++) v = [v, v]; return v', /^OUTPUT_TOO_LARGE$/],
    ['a billion holes', 'const v = []; v.length = 1e9; return v', /^OUTPUT_NOT_JSON$/],
    [
      'a proxy of endless keys',
      'return new Proxy({}, { ownKeys: () => Array.from({ length: 1e5 }, (_, i) => "k" + i), getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }) })',
      /^OUTPUT_(TOO_LARGE|NOT_JSON)$/,
    ],
    [
      'an unfriendly list under uniqueItems',
      'return Array.from({ length: 5000 }, (_, i) => ({ a: [[[{ b: { c: i % 4999 } }]]] }))',
      /^OUTPUT_INVALID$/,
    ],
    [
      'a proxy without end',
      'const p = new Proxy([], { get: (_, k) => (k === "length" ? 1 : p), getPrototypeOf: () => Array.prototype }); return p',
      /^OUTPUT_NOT_JSON$/,
    ],
  ])('%s', async (_, body, code) => {
    const output = body.includes('4999') ? { type: 'array', uniqueItems: true } : {};
    expect(await endOf({ body, manifest: { output } })).toMatch(code);
  });
});
