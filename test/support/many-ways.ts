import type { NodeSource } from './node-package.ts';

/** A node that ends in as many ways as `input.do` names, bundled once for the tests of a file. */
export const manyWays: NodeSource = {
  id: 'many-ways',
  top: `import { NodeError } from '@glovebox/sdk';
import fs from 'node:fs';`,
  body: `
  const { value } = ctx.input;
  switch (ctx.input.do) {
    case 'echo': return { value };
    case 'log':
      ctx.log.debug('at debug'); ctx.log.info('at info', { n: 1 }); ctx.log.warn('at warn'); ctx.log.error('at error');
      console.log('by console'); process.stdout.write('by stdout\\n');
      return { value: null };
    case 'lines': for (let i = 1; i <= value; i++) ctx.log.info('line ' + i); return { value };
    case 'say': ctx.log.info(value.log); console.log(value.log); ctx.progress(0.5, value.progress); return { value: value.log };
    case 'files':
      await ctx.files.write('data.json', '{"a":1}', 'application/json');
      await ctx.files.write('raw.bin', new Uint8Array(value), 'application/octet-stream');
      return { value: 2 };
    case 'progress': ctx.progress(0.25, 'a quarter'); await ctx.clock.sleep(60); ctx.progress({ fraction: 1, message: 'all' }); return { value };
    case 'throw': throw new NodeError(value.code, value.message, { retryable: true, retryAfter: '3s', details: { seen: 1 } });
    case 'crash': throw new TypeError('not foreseen');
    case 'exit': return process.exit(7);
    case 'abort': process.abort(); break;
    case 'spin': for (;;);
    case 'memory': { const held = []; for (;;) held.push(new Uint8Array(8 << 20).fill(1)); }
    case 'output': return { value: 'x'.repeat(value) };
    case 'misfit': return { wrong: true };
    case 'scratch': fs.writeFileSync(ctx.scratch + '/full', Buffer.alloc(8 << 20)); return { value };
    case 'wait':
      ctx.log.info('waiting');
      await ctx.clock.sleep(value).catch((reason) => { ctx.log.info('told ' + reason.code); throw reason; });
      ctx.log.info('waited');
      return { value };
    case 'stay':
      ctx.signal.addEventListener('abort', () => ctx.log.info('told and staying'));
      ctx.log.info('staying');
      await new Promise((resolve) => setTimeout(resolve, 170000));
  }
  return { value: 'nothing' };`,
  manifest: {
    input: {
      type: 'object',
      properties: { do: { type: 'string' }, value: {}, text: { type: 'string' }, more: { type: 'string' } },
      required: ['do'],
      additionalProperties: false,
    },
    config: { type: 'object', properties: { mode: { enum: ['a', 'b'] } }, additionalProperties: false },
    output: { type: 'object', properties: { value: {} }, required: ['value'], additionalProperties: false },
    capabilities: { files: { maxBytes: '8MiB', maxCount: 4 }, scratch: { maxBytes: '1MiB' } },
    resources: { memory: '96MiB', timeout: '3m', output: '64KiB', logs: '256KiB' },
  },
  files: {
    'fixtures/good.json': JSON.stringify({
      input: { do: 'echo', value: [1, { a: 2, b: 3 }] },
      expect: { output: { value: [1, { b: 3, a: 2 }] } },
    }),
    'fixtures/differs.json': JSON.stringify({
      input: { do: 'echo', value: { list: [1, 2] } },
      expect: { output: { value: { list: [1, 3] } } },
    }),
    'fixtures/fails-as-told.json': JSON.stringify({
      input: { do: 'throw', value: { code: 'NO_LUCK', message: 'm' } },
      config: { mode: 'a' },
      expect: { error: 'NO_LUCK' },
    }),
    'fixtures/fails-otherwise.json': JSON.stringify({ input: { do: 'echo', value: 1 }, expect: { error: 'NO_LUCK' } }),
    'fixtures/should-succeed.json': JSON.stringify({ input: { do: 'crash' }, expect: { output: { value: 1 } } }),
  },
};

/** Arguments that run it one way. */
export const inWay = (way: string, value?: unknown): string[] => [
  'node',
  'run',
  'many-ways',
  '--trial',
  '--input',
  JSON.stringify({ do: way, ...(value === undefined ? {} : { value }) }),
];
