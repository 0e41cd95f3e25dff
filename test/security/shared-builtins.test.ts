import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { verifyRun } from '@glovebox/engine';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();

const fail = `() => { throw new Error('patched') }`;
const lie = `() => '"forged"'`;
const each = (target: string, names: string, by: string): string =>
  names
    .split(' ')
    .map((name) => `${target}.${name} = ${by};`)
    .join(' ');

/** What a node may replace before its handler runs. The harness shares its realm. */
const damage: Record<string, string> = {
  nothing: '',
  JSON: `JSON.stringify = ${lie}; JSON.parse = ${fail};`,
  promises: `${each('Promise.prototype', 'then catch finally', fail)} Promise.resolve = ${fail};`,
  'the constructor of promises': `Promise.prototype.constructor = function () {};`,
  collections: `${each('Array.prototype', 'push shift map join slice concat forEach indexOf', fail)} ${each('Map.prototype', 'get set has delete', fail)} ${each('String.prototype', 'slice replace split charCodeAt', fail)}`,
  output: `process.stdout.write = process.stderr.write = ${lie}; ${each(`process.getBuiltinModule('fs')`, 'writeSync write readSync', fail)}`,
  'streams and sockets': `{ const s = process.getBuiltinModule('stream'), n = process.getBuiltinModule('net'), e = process.getBuiltinModule('events'); for (const C of [s.Readable, s.Writable, s.Duplex, n.Socket, e.EventEmitter]) for (const k of 'write read push emit on cork uncork end destroy _write _read _writev'.split(' ')) C.prototype[k] = ${fail}; }`,
  'the globals': `for (const name of 'JSON Promise Object Array String Number Symbol Map Set WeakMap Uint8Array Buffer TextEncoder TextDecoder AbortController AbortSignal URL Proxy Reflect Error TypeError setTimeout setImmediate clearTimeout queueMicrotask performance structuredClone'.split(' ')) globalThis[name] = undefined;`,
  'the way that errors and exits are told': `process.removeAllListeners(); ${each('process', 'on emit exit reallyExit getBuiltinModule setUncaughtExceptionCaptureCallback', fail)} Error.prepareStackTrace = ${fail}; Error.captureStackTrace = ${fail};`,
};

async function verified(run: string): Promise<unknown> {
  const { engine, dataDir } = cells();
  const key = await readFile(join(dataDir, 'keys', 'signing.pub.pem'), 'utf8');
  return (await verifyRun(engine, 'default', run, [key])).statement.predicate.observed;
}

describe('result, logs, files and receipt stay right when a node replaces', () => {
  it.each(Object.entries(damage))('%s', async (_, top) => {
    const result = await cells().run(
      {
        top,
        body: `
          ctx.log.info('logged', { secret: 'not forged' });
          console.log('printed');
          const { sizeBytes } = await ctx.files.write('a.txt', 'content', 'text/plain');
          return { sizeBytes, input: ctx.input.k };`,
        manifest: { capabilities: { files: { maxBytes: '1KiB' } } },
      },
      { input: { k: ['v'] } },
    );
    expect(result).toMatchObject({ state: 'SUCCEEDED', error: null, output: { sizeBytes: 7, input: ['v'] } });
    expect(result.logs.map(({ source, message }) => [source, message])).toEqual([
      ['node', 'logged'],
      ['console', 'printed'],
    ]);
    expect(await result.file('a.txt')).toBe('content');
    expect(await verified(result.run)).toMatchObject({
      state: 'SUCCEEDED',
      errorCode: null,
      peaks: { outputBytes: JSON.stringify({ sizeBytes: 7, input: ['v'] }).length },
      files: [{ name: 'a.txt', sizeBytes: 7 }],
    });
  });

  it('nearly all of them, and then fails: the failure is told', async () => {
    const { 'the globals': _, ...rest } = damage;
    const result = await cells().run({ top: Object.values(rest).join('\n'), body: `throw new Error('as told')` });
    expect(result).toMatchObject({ state: 'FAILED', error: { code: expect.stringMatching(/^NODE_(LOAD_)?FAILED$/) } });
    expect(await verified(result.run)).toMatchObject({ state: 'FAILED', errorCode: 'NODE_FAILED', outputDigest: null });
  });
});
