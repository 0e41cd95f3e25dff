import type { Json } from '@glovebox/contract';
import { GloveboxError } from '@glovebox/contract';
import { afterEach, describe, expect, it } from 'vitest';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();

/** JSON texts that would reach a prototype where somebody merges, assigns or looks up without care. */
const payloads: Record<string, string> = {
  'an own __proto__': '{"__proto__":{"polluted":true}}',
  'an own __proto__ in escapes': String.raw`{"\u005f_proto__":{"polluted":true}}`,
  'constructor.prototype': '{"constructor":{"prototype":{"polluted":true}}}',
  'a __proto__ in an array': '[{"__proto__":{"polluted":true}},["__proto__",{"polluted":true}]]',
  'a __proto__ in a __proto__': '{"a":{"__proto__":{"__proto__":{"polluted":true}}}}',
  'a __proto__ that is null or no object': '{"a":{"__proto__":null},"b":{"__proto__":"polluted"}}',
  'names of inherited methods': '{"toString":1,"hasOwnProperty":2,"valueOf":3,"toJSON":4,"then":5,"length":-1}',
  'accessors of old': '{"__defineGetter__":1,"__lookupGetter__":2,"__defineSetter__":{"polluted":true}}',
};

/** What this process, which stands for every host process, must still be. */
function expectClean(): void {
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  expect(([] as unknown as { polluted?: unknown }).polluted).toBeUndefined();
  expect(Object.keys(Object.prototype)).toEqual([]);
  expect(Object.getPrototypeOf(Object.prototype)).toBeNull();
}
afterEach(expectClean);

/** Sends everything that it was given on by every way out that a node has. */
const echo = {
  body: `
  const polluted = ({}).polluted === undefined ? 'no' : 'yes';
  ctx.log.info('input', ctx.input);
  console.log(JSON.stringify(ctx.config));
  await ctx.files.write('__proto__', JSON.stringify(ctx.input), 'application/json');
  await ctx.files.write('constructor', 'text');
  if (ctx.config.fail) throw new NodeError('POLLUTED', 'as told', { details: ctx.input });
  return { polluted, input: ctx.input, config: ctx.config };`,
  top: `import { NodeError } from '@glovebox/sdk';`,
  manifest: { capabilities: { files: { maxBytes: '1MiB' } } },
};

describe.each(Object.entries(payloads))('%s', (_, text) => {
  const value = JSON.parse(text) as Json;

  it('is data on every way in and out', async () => {
    const result = await cells().run(echo, { inputText: text, configText: text });
    expect(result.error).toBeNull();
    // As text: a comparison of objects would not see an own __proto__.
    expect(JSON.stringify(result.output)).toBe(JSON.stringify({ polluted: 'no', input: value, config: value }));
    expect(result.logs.map(({ message }) => message)).toEqual(['input', JSON.stringify(value)]);
    expect(result.files.map(({ name }) => name)).toEqual(['__proto__', 'constructor']);
    expect(await result.file('__proto__')).toBe(JSON.stringify(value));
    const stored = await cells().engine.store.get('default', result.run);
    expect(stored?.run.inputText).toBe(text);
    expect(stored?.attempts[0]?.end?.outputText).toBe(JSON.stringify({ polluted: 'no', input: value, config: value }));
  });
});

describe('a __proto__', () => {
  const schema = { type: 'object', properties: { polluted: { const: true } }, required: ['polluted'] };

  it('satisfies no requirement of a schema, and an own property does', async () => {
    const source = { body: 'return Object.keys(ctx.input)', manifest: { input: schema } };
    const refused: unknown = await cells()
      .run(source, { inputText: payloads['an own __proto__'] as string })
      .catch((thrown: unknown) => thrown);
    expect(GloveboxError.is(refused, 'INPUT_INVALID')).toBe(true);
    expect((await cells().run(source, { inputText: '{"polluted":true}' })).output).toEqual(['polluted']);
  });

  it('counts as an own property where a schema admits no others', async () => {
    const closed = { type: 'object', properties: { a: {} }, additionalProperties: false };
    const source = { body: 'return 1', manifest: { input: closed } };
    const refused: unknown = await cells()
      .run(source, { inputText: '{"__proto__":{"a":1}}' })
      .catch((thrown: unknown) => thrown);
    expect(GloveboxError.is(refused, 'INPUT_INVALID')).toBe(true);
    expect((await cells().run(source, { inputText: '{"a":1}' })).output).toBe(1);
  });

  it('in details of an error is data, also in the record', async () => {
    const text = payloads['constructor.prototype'] as string;
    const result = await cells().run(echo, { inputText: text, config: { fail: true } });
    expect(result.error).toMatchObject({ code: 'POLLUTED', message: 'as told' });
    expect(JSON.stringify((result.error as { details?: Json }).details)).toBe(text);
  });

  it('that a node puts on its own prototypes stays in its cell', async () => {
    const polluter = {
      body: `Object.prototype.polluted = true; Object.prototype.code = 'X'; Array.prototype.polluted = true; return { a: [1] };`,
    };
    const first = await cells().run(polluter);
    expect(first).toMatchObject({ state: 'SUCCEEDED', output: { a: [1] } });
    const next = await cells().run({
      body: 'return [({}).polluted === undefined, ({}).code === undefined, Object.keys(ctx.ids)]',
    });
    expect(next.output).toEqual([true, true, ['project', 'node', 'run', 'attempt', 'correlation']]);
  });
});
