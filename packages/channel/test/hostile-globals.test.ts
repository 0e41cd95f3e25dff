import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { serveChannel } from '../src/index.ts';
import { endOf, read } from './kit.ts';

const child = fileURLToPath(new URL('./children/patched.ts', import.meta.url));

/** What the host saw of a guest that sends, gets it back, and sends that to `/mirror`. */
async function hostOf(args: string[]): Promise<{ exit: unknown; end: string; requests: string[]; heads: unknown[] }> {
  const guest = spawn(process.execPath, [child, ...args], { env: {}, stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
  const requests: string[] = [];
  const heads: unknown[] = [];
  let last: Buffer = Buffer.alloc(0);
  const server = serveChannel(guest.stdio[3] as Duplex, async (stream) => {
    const body = await read(stream.body);
    heads.push({ ...stream.head.headers });
    stream.respond({ status: 200, headers: { 'x-back': 'ü' } });
    const { pathname } = new URL(stream.head.url);
    if (pathname === '/mirror') {
      requests.push(body.equals(last) ? 'mirrored' : 'changed');
    } else {
      requests.push(`${stream.head.method} ${pathname} ${body.length}`);
      last = body;
      await stream.write(body);
    }
    stream.end();
  });
  const [exit] = await once(guest, 'exit');
  return { exit, end: (await endOf(server)).kind, requests, heads };
}

const right = {
  exit: 0,
  end: 'closed',
  requests: ['POST /before 14', 'mirrored', 'POST /after 3000000', 'mirrored', 'POST /after 42', 'mirrored'],
  heads: [{ 'x-a': 'é"' }, {}, { 'x-a': 'é"' }, {}, { 'x-a': 'é"' }, {}],
};

it('a guest whose built-ins are as they were works', async () => {
  expect(await hostOf(['throw', 'nothing'])).toEqual(right);
});

it.each(['lie', 'zero', 'throw'])(
  'a guest whose author made every built-in in reach %s works the same',
  async (manner) => {
    expect(await hostOf([manner])).toEqual(right);
  },
);

it.each([
  'JSON',
  'Promise.prototype',
  'Array.prototype',
  'Buffer.prototype',
  'EventEmitter.prototype',
  'Socket.prototype',
  'pollution',
])('a guest whose author made only %s throw works the same', async (target) => {
  expect(await hostOf(['throw', target])).toEqual(right);
});
