import { describe, expect, it } from 'vitest';
import { attempting } from '../support/attempts.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();
const files = { capabilities: { files: { maxBytes: '1MiB', maxCount: 20 } } };

/** Things that are no string, and that `String(x)`, a template or a join would make one of. */
const impostors: Record<string, string> = {
  'a String object': `new String('name.txt')`,
  'an array': `['name.txt']`,
  'a URL': `new URL('file:///etc/passwd')`,
  'a Buffer': `Buffer.from('name.txt')`,
  'an object with toString': `{ toString: () => 'name.txt', href: 'file:///etc/passwd', path: '/etc/passwd' }`,
  'an object with Symbol.toPrimitive': `{ [Symbol.toPrimitive]: () => 'name.txt' }`,
  'a function': `() => 'name.txt'`,
  'a symbol': `Symbol('name.txt')`,
  'a number': '7',
  null: 'null',
  nothing: 'undefined',
};

const everyImpostor = (call: (value: string) => string): Record<string, string> =>
  Object.fromEntries(Object.entries(impostors).map(([name, value]) => [name, call(value)]));
const allRefused = (code: string): Record<string, string> =>
  Object.fromEntries(Object.keys(impostors).map((name) => [name, code]));

describe('what is no string is refused as', () => {
  it.each([
    ['a message', (v: string) => `ctx.log.info(${v})`],
    ['the name of a file', (v: string) => `await ctx.files.write(${v}, 'data')`],
    ['the code of an error', (v: string) => `new NodeError(${v}, 'message')`],
    ['the message of an error', (v: string) => `new NodeError('CODE', ${v})`],
  ])('%s', async (_, call) => {
    const source = attempting(everyImpostor(call), `import { NodeError } from '@glovebox/sdk';`);
    const result = await cells().run({ ...source, manifest: files });
    expect(result.output).toEqual(allRefused('TypeError'));
    expect(result.files).toEqual([]);
  });

  it('a media type, which may be left out', async () => {
    const source = attempting(
      everyImpostor((v) => `await ctx.files.write('name.txt', 'data', ${v}); return 'written'`),
    );
    const { output } = await cells().run({ ...source, manifest: files });
    expect(output).toEqual({ ...allRefused('TypeError'), nothing: { got: 'written' } });
  });
});

describe('helpers', () => {
  it('take what is documented', async () => {
    const result = await cells().run({
      ...attempting(
        {
          log: `ctx.log.info('text', { a: 1n, b: [undefined] })`,
          'log without fields': `ctx.log.warn('text')`,
          progress: `ctx.progress(0.5, 'half'); ctx.progress({ fraction: 1, message: 'whole' })`,
          sleep: `await ctx.clock.sleep(0)`,
          'a file of text': `return (await ctx.files.write('a.txt', 'é', 'text/plain; charset=utf-8')).sizeBytes`,
          'a file of bytes': `return (await ctx.files.write('b', new Uint8Array([1, 2, 3]))).sizeBytes`,
          'a file of a Buffer': `return (await ctx.files.write('c', Buffer.from('abcd'))).sizeBytes`,
          'a file of an array of chunks': `return (await ctx.files.write('d', ['ab', Buffer.from('cde')])).sizeBytes`,
          'a file of a generator': `return (await ctx.files.write('e', (async function* () { yield 'ab'; yield 'cdef'; })())).sizeBytes`,
          'a file of a stream': `return (await ctx.files.write('f', builtin('stream').Readable.from(['abcdefg']))).sizeBytes`,
          'an error': `const e = new NodeError('CODE', 'text', { retryable: true, retryAfter: '30s' }); return [e.code, e.retryAfterMs]`,
        },
        `import { NodeError } from '@glovebox/sdk';`,
      ),
      manifest: files,
    });
    expect(result.output).toEqual({
      log: { got: 'undefined' },
      'log without fields': { got: 'undefined' },
      progress: { got: 'undefined' },
      sleep: { got: 'undefined' },
      'a file of text': { got: 2 },
      'a file of bytes': { got: 3 },
      'a file of a Buffer': { got: 4 },
      'a file of an array of chunks': { got: 5 },
      'a file of a generator': { got: 6 },
      'a file of a stream': { got: 7 },
      'an error': { got: ['CODE', 30_000] },
    });
    expect(result.files.map(({ name }) => name)).toEqual(['a.txt', 'b', 'c', 'd', 'e', 'f']);
  });

  it('refuse what is near that', async () => {
    const { output, files: written } = await cells().run({
      ...attempting({
        'fields that are text': `ctx.log.info('text', 'fields')`,
        'a fraction as text': `ctx.progress('0.5')`,
        'a fraction as an object of numbers': `ctx.progress(new Number(0.5))`,
        'a fraction above 1': `ctx.progress(1.1)`,
        'a fraction that is not a number': `ctx.progress(NaN)`,
        'a message of progress as an object': `ctx.progress(0.5, { toString: () => 'half' })`,
        'a sleep as text': `await ctx.clock.sleep('1')`,
        'a sleep as an object': `await ctx.clock.sleep({ valueOf: () => 1 })`,
        'a sleep as a BigInt': `await ctx.clock.sleep(1n)`,
        'a sleep before now': `await ctx.clock.sleep(-1)`,
        'a sleep without end': `await ctx.clock.sleep(Infinity)`,
        'a signal that is none': `await ctx.clock.sleep(1, { signal: { aborted: true, reason: 'x' } })`,
        'a file of an object': `await ctx.files.write('a', { path: '/etc/passwd' })`,
        'a file of a URL': `await ctx.files.write('a', new URL('file:///etc/passwd'))`,
        'a file of a promise': `await ctx.files.write('a', Promise.resolve('text'))`,
        'a file of numbers': `await ctx.files.write('a', [1, 2, 3])`,
        'a file of words': `await ctx.files.write('a', new Uint16Array(2))`,
        'a file of a String object': `await ctx.files.write('a', [new String('x')])`,
        'a file of nested chunks': `await ctx.files.write('a', [['x']])`,
        'a name with a path': `await ctx.files.write('../a', 'x')`,
        'a name with a NUL': `await ctx.files.write('a\\0b', 'x')`,
        'a name that begins with a dot': `await ctx.files.write('.npmrc', 'x')`,
        'a name that begins with a hyphen': `await ctx.files.write('-rf', 'x')`,
        'a name with a line break': `await ctx.files.write('a\\nb', 'x')`,
        'an empty name': `await ctx.files.write('', 'x')`,
        'a media type with a line break': `await ctx.files.write('a', 'x', 'text/plain\\r\\nx: y')`,
      }),
      manifest: files,
    });
    const names = Object.keys(output as object);
    const code = (name: string): string => {
      if (/^an? (empty )?name|^a media type/.test(name)) return 'FILE_NAME_REFUSED';
      return /above|not a number|before now|without end/.test(name) ? 'RangeError' : 'TypeError';
    };
    expect(output).toEqual(Object.fromEntries(names.map((name) => [name, code(name)])));
    expect(written).toEqual([]);
  });

  it('read what they are given once, so that it cannot change after the check', async () => {
    const result = await cells().run({
      ...attempting({
        progress: `let n = 0; ctx.progress({ get fraction() { return n++ === 0 ? 0.5 : 'forged'; } }); return n`,
        output: `return 'see below'`,
      }),
      manifest: files,
    });
    expect(result.output).toEqual({ progress: { got: 1 }, output: { got: 'see below' } });
    const turning = await cells().run({ body: `let n = 0; return { get a() { return n++ === 0 ? 1 : 10n; } }` });
    expect(turning.output).toEqual({ a: 1 });
  });

  it('are what they are: nothing of a context can be replaced', async () => {
    const { output } = await cells().run(
      attempting({
        'a helper': `ctx.log.info = () => {}`,
        'the context': `ctx.files = {}`,
        'a part of the input': `ctx.input.deep.value = 2`,
        'an item of the input': `ctx.input.list.push(1)`,
        'the ids': `ctx.ids.run = 'run_other'`,
        'the key': `ctx.idempotencyKey = 'other'`,
      }),
      { input: { deep: { value: 1 }, list: [] } },
    );
    expect(new Set(Object.values(output as object))).toEqual(new Set(['TypeError']));
  });
});
