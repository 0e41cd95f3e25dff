import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeCa, type TestCa } from '../test/ca.ts';
import { ask, closeDialers, failure, openScope, reasonOf } from '../test/dialing.ts';
import { closeOrigins, openHttp2, openRaw } from '../test/origins.ts';

let ca: TestCa;
beforeAll(() => {
  ca = makeCa();
});
afterEach(async () => {
  closeDialers();
  await closeOrigins();
});

const key = 'dGhlIHNhbXBsZSBub25jZQ==';
const acceptOf = (text: string): string =>
  createHash('sha1').update(`${text}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
const headers = { 'sec-websocket-key': key, 'sec-websocket-version': '13', origin: 'https://cell' };
const agreed = (accept = acceptOf(key)): string =>
  `HTTP/1.1 101 Switching Protocols\r\nupgrade: WebSocket\r\nconnection: Upgrade\r\nsec-websocket-accept: ${accept}\r\nx-mine: yes\r\n\r\n`;

describe('a WebSocket', () => {
  it('is the bare connection once the origin has agreed, with what it said right after', async () => {
    const heads: string[] = [];
    const origin = await openRaw(
      (socket, head) => {
        heads.push(head);
        socket.write(`${agreed()}welcome`);
        socket.on('data', (chunk) => socket.write(chunk));
      },
      ca.issue(['DNS:origin.test']),
    );
    const upgraded = await openScope({ extraCa: [ca.cert] }).upgrade(
      ask(`https://origin.test:${origin.port}/live?a=1`, { headers }),
    );
    expect(upgraded).toMatchObject({ status: 101, address: '127.0.0.1' });
    expect(upgraded.headers).toMatchObject({ 'sec-websocket-accept': acceptOf(key), 'x-mine': 'yes' });
    expect(heads[0]).toMatch(/^GET \/live\?a=1 HTTP\/1\.1\r\n/);
    expect(heads[0]).toContain(`host: origin.test:${origin.port}\r\n`);
    expect(heads[0]).toMatch(/\r\nconnection: upgrade\r\nupgrade: websocket\r\n/);
    expect(await said(upgraded.socket, 'welcome')).toBe('welcome');
    upgraded.socket.write('hello');
    expect(await said(upgraded.socket, 'hello')).toBe('hello');
  });

  it('is asked for by HTTP/1.1 where the origin has HTTP/2 as well', async () => {
    const origin = await openHttp2((_request, response) => void response.end(), ca.issue(['DNS:origin.test']));
    const upgrade = openScope({ extraCa: [ca.cert] }).upgrade(ask(`https://origin.test:${origin.port}/`, { headers }));
    await failure(upgrade);
    expect(origin.serverNames).toHaveLength(1);
    expect(origin.seen.map(({ version }) => version)).not.toContain('2.0');
  });

  it.each([200, 302, 403, 426, 500])('is not there after %i', async (status) => {
    const { port } = await openRaw((socket) => socket.write(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`));
    const { code, reason, error } = await failure(openScope().upgrade(ask(`http://origin.test:${port}/`, { headers })));
    expect({ code, reason, details: error.details }).toMatchObject({
      code: 'EGRESS_FAILED',
      reason: 'PROTOCOL_ERROR',
      details: { status },
    });
  });

  it.each([
    ['without a word on the key', 'HTTP/1.1 101 Yes\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'],
    ['to another key', agreed(acceptOf('another'))],
    ['to another protocol', agreed().replace('WebSocket', 'h2c')],
  ])('is not there when the origin agrees %s', async (_what, answer) => {
    const { port } = await openRaw((socket) => socket.write(answer));
    expect(await reasonOf(openScope().upgrade(ask(`http://origin.test:${port}/`, { headers })))).toBe('PROTOCOL_ERROR');
  });

  it('is not waited for beyond the deadline of the answer', async () => {
    const { port } = await openRaw(() => {});
    const request = ask(`http://origin.test:${port}/`, { headers, timeouts: { headers: 150 } });
    expect(await reasonOf(openScope().upgrade(request))).toBe('HEADERS_TIMED_OUT');
  });

  it('is not asked for once the fence is closed', async () => {
    const origin = await openRaw((socket) => socket.write(agreed()));
    const fence = (): void => {
      throw new Error('closed');
    };
    await failure(openScope().upgrade(ask(`http://origin.test:${origin.port}/`, { headers, fence })));
    expect(origin.connections).toBe(0);
  });

  it.each(['the signal', 'the scope'])('ends with %s', async (what) => {
    const closed = Promise.withResolvers<void>();
    const { port } = await openRaw((socket) => {
      socket.write(agreed());
      socket.once('close', () => closed.resolve());
    });
    const giving = new AbortController();
    const scope = openScope();
    const { socket } = await scope.upgrade(ask(`http://origin.test:${port}/`, { headers, signal: giving.signal }));
    expect(socket.destroyed).toBe(false);
    if (what === 'the signal') giving.abort();
    else scope.destroy();
    expect(socket.destroyed).toBe(true);
    await closed.promise;
  });
});

async function said(socket: Socket, wanted: string): Promise<string> {
  let heard = '';
  while (heard.length < wanted.length) {
    const chunk = socket.read() as Buffer | null;
    if (chunk === null) await once(socket, 'readable');
    else heard += chunk.toString();
  }
  return heard;
}
