import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { createEngineClient, type EngineRequest, isRefusal, oneLine } from './engine-client.ts';

const home = mkdtempSync(join(tmpdir(), 'glovebox-engine-client-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

interface RawEngine {
  socketPath: string;
  /** What clients sent, all of it. */
  heard(): string;
  connections(): number;
}

const engines: net.Server[] = [];
const sockets: net.Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  for (const server of engines.splice(0)) {
    server.close();
    await once(server, 'close');
  }
});

/** Speaks from the other end of a real socket, byte by byte what it is told, once a request's headers have come. */
async function rawEngine(answer: (socket: net.Socket, request: string) => void | Promise<void>): Promise<RawEngine> {
  const socketPath = join(home, `${engines.length}-${Math.random().toString(36).slice(2)}`);
  let heard = '';
  let connections = 0;
  const server = net.createServer({ allowHalfOpen: true }, (socket) => {
    connections++;
    sockets.push(socket);
    let request = '';
    let answered = false;
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      heard += chunk.toString('latin1');
      request += chunk.toString('latin1');
      if (answered || !request.includes('\r\n\r\n')) return;
      answered = true;
      void answer(socket, request);
    });
  });
  engines.push(server);
  server.listen(socketPath);
  await once(server, 'listening');
  return { socketPath, heard: () => heard, connections: () => connections };
}

const ok = (body: string, headers = ''): string =>
  `HTTP/1.1 200 OK\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
const get = (more: Partial<EngineRequest> = {}): EngineRequest => ({
  method: 'GET',
  path: '/info',
  answers: [200],
  deadlineMs: 5_000,
  ...more,
});
const ask = (engine: RawEngine, more: Partial<EngineRequest> = {}, maxBytes = 10_000) =>
  createEngineClient({ socketPath: engine.socketPath }, { maxBytes }).call(get(more));

describe('a call to an engine', () => {
  it('is one plain JSON text with its length, on a connection of its own', async () => {
    const engine = await rawEngine((socket) => void socket.end(ok('{"Id":"x"}')));
    const client = createEngineClient({ socketPath: engine.socketPath });
    const request = get({ method: 'POST', path: '/containers/create', query: { name: 'a b&c' }, json: { Image: 'ü' } });
    for (let i = 0; i < 2; i++) expect(await client.call(request)).toEqual({ status: 200, text: '{"Id":"x"}' });
    expect(engine.connections()).toBe(2);
    expect(engine.heard()).toContain('POST /containers/create?name=a+b%26c HTTP/1.1\r\n');
    expect(engine.heard()).toMatch(/content-length: 14\r\n/i);
    expect(engine.heard()).not.toMatch(/transfer-encoding/i);
  });

  it('takes an answer in chunks, split at every byte', async () => {
    const text = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n';
    const engine = await rawEngine(async (socket) => {
      for (const byte of text) {
        socket.write(byte);
        await sleep(0);
      }
      socket.end();
    });
    expect((await ask(engine)).text).toBe('hello world');
  });

  it('sends an image in chunks, and no faster than it is taken', async () => {
    let made = 0;
    const engine: RawEngine = await rawEngine(async (socket) => {
      socket.pause();
      await sleep(200);
      const whileHeld = made;
      socket.resume();
      while (engine.heard().length <= 256 * 65_536) await sleep(5);
      socket.end(ok(String(whileHeld)));
    });
    const stream = Readable.from(
      (function* () {
        for (; made < 256; made++) yield Buffer.alloc(65_536, made);
      })(),
      { objectMode: false },
    );
    const { text } = await ask(engine, { method: 'POST', path: '/images/load', stream });
    expect(Number(text)).toBeLessThan(64);
    expect(engine.heard().length).toBeGreaterThan(256 * 65_536);
  });
});

describe('an engine that refuses', () => {
  it('is told by its own words, on one line, bounded and without what a terminal obeys', async () => {
    const words = `no\u001b[31m such\r\nimage ${'x'.repeat(5000)}`;
    const engine = await rawEngine((socket) => {
      const body = JSON.stringify({ message: words });
      socket.end(`HTTP/1.1 500 Oops\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    });
    const thrown = await ask(engine).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code: 'ENGINE_REFUSED', details: { status: 500 } });
    const { message } = thrown as Error;
    expect(message).toMatch(/^The container engine answered 500: no \[31m such image x+…$/);
    expect(message.length).toBeLessThan(500);
    expect(isRefusal(thrown, 500)).toBe(true);
    expect(isRefusal(thrown, 404)).toBe(false);
  });

  it.each([301, 400, 404, 204])('is refused where its status %i is no answer', async (status) => {
    const engine = await rawEngine((socket) => void socket.end(`HTTP/1.1 ${status} X\r\nContent-Length: 0\r\n\r\n`));
    await expect(ask(engine)).rejects.toMatchObject({ code: 'ENGINE_REFUSED', details: { status } });
  });
});

describe('what speaks no API of an engine', () => {
  it.each([
    ['garbage', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
    ['a length told twice, differently', 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab'],
    [
      'a length and chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
    ],
    ['a chunk with no number', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\na\r\n0\r\n\r\n'],
    ['headers without end', `HTTP/1.1 200 OK\r\nX: ${'y'.repeat(40_000)}\r\n\r\n`],
  ])('is refused: %s', async (_, text) => {
    const engine = await rawEngine((socket) => void socket.end(text));
    await expect(ask(engine)).rejects.toMatchObject({ code: 'ENGINE_REFUSED' });
  });

  it.each([
    ['by its length', () => ok('x'.repeat(20_000))],
    [
      'in chunks',
      () => `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5000\r\n${'x'.repeat(0x5000)}\r\n0\r\n\r\n`,
    ],
    ['until it closes', () => `HTTP/1.1 200 OK\r\n\r\n${'x'.repeat(20_000)}`],
    ['as a refusal', () => ok('x'.repeat(20_000)).replace('200 OK', '500 X')],
  ])('is not read on beyond the bound: %s', async (_, text) => {
    const engine = await rawEngine((socket) => void socket.end(text()));
    await expect(ask(engine)).rejects.toMatchObject({
      code: 'ENGINE_REFUSED',
      message: expect.stringMatching(/longer/),
    });
    expect((await ask(engine, { answers: [200, 500] }, 30_000)).text.length).toBeGreaterThanOrEqual(20_000);
  });
});

describe('an engine that cannot be reached', () => {
  it('is told as such: no socket, nobody behind it, a plain file', async () => {
    const gone = await rawEngine(() => undefined);
    const server = engines.pop();
    server?.close();
    for (const socketPath of [join(home, 'none'), gone.socketPath, import.meta.filename]) {
      const client = createEngineClient({ socketPath });
      await expect(client.call(get())).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
      await expect(client.hijack('/x', {}, 1_000)).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
    }
  });

  it.each([
    ['before the answer', (socket: net.Socket) => void socket.destroy()],
    ['orderly before the answer', (socket: net.Socket) => void socket.end()],
    ['within the headers', (socket: net.Socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-')],
    ['within the body', (socket: net.Socket) => void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf')],
    [
      'within a chunk',
      (socket: net.Socket) => void socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n64\r\nhalf'),
    ],
  ])('breaks off %s', async (_, answer) => {
    const engine = await rawEngine(answer);
    await expect(ask(engine)).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
  });

  it.each([
    ['says nothing', () => undefined],
    ['stops within the headers', (socket: net.Socket) => void socket.write('HTTP/1.1 200 OK\r\n')],
    [
      'sends its answer drop by drop',
      async (socket: net.Socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n');
        while (!socket.destroyed && socket.writable) {
          socket.write('x');
          await sleep(20);
        }
      },
    ],
  ])('is given up at the deadline when it %s', async (_, answer) => {
    const engine = await rawEngine(answer);
    const started = performance.now();
    await expect(ask(engine, { deadlineMs: 150 })).rejects.toMatchObject({
      code: 'ENGINE_UNREACHABLE',
      message: expect.stringContaining('within 150 ms'),
    });
    expect(performance.now() - started).toBeLessThan(3_000);
  });

  it('is given up when the caller says so, before and within the call', async () => {
    const engine = await rawEngine(() => undefined);
    const giving = new AbortController();
    const waiting = ask(engine, { deadlineMs: null, signal: giving.signal });
    await sleep(50);
    giving.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
    await expect(ask(engine, { signal: giving.signal })).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
  });
});

describe('a connection that an engine hands over', () => {
  const switching = 'HTTP/1.1 101 UPGRADED\r\nContent-Type: x\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n';

  it('is raw both ways, with what came right behind the headers', async () => {
    const engine = await rawEngine((socket) => {
      socket.write(`${switching}first`);
      socket.on('data', (chunk) => socket.write(`[${chunk}]`));
      socket.on('end', () => socket.end('last'));
    });
    const socket = await createEngineClient({ socketPath: engine.socketPath }).hijack('/attach', { stdin: '1' }, 5_000);
    socket.write('hello');
    await sleep(50);
    socket.end();
    const text = (await socket.toArray()).join('');
    expect(text).toBe('first[hello]last');
    expect(engine.heard()).toContain('POST /attach?stdin=1 HTTP/1.1\r\n');
  });

  it('outlives the deadline that was for making it', async () => {
    const engine = await rawEngine(async (socket) => {
      socket.write(switching);
      await sleep(300);
      socket.end('late');
    });
    const socket = await createEngineClient({ socketPath: engine.socketPath }).hijack('/attach', {}, 100);
    expect((await socket.toArray()).join('')).toBe('late');
  });

  it.each([
    ['plainly', ok('raw')],
    ['with a refusal', 'HTTP/1.1 404 X\r\nContent-Length: 2\r\n\r\n{}'],
  ])('is refused when the engine answers %s', async (_, text) => {
    const engine = await rawEngine((socket) => void socket.end(text));
    const client = createEngineClient({ socketPath: engine.socketPath });
    await expect(client.hijack('/attach', {}, 5_000)).rejects.toMatchObject({ code: 'ENGINE_REFUSED' });
  });

  it('is not made of a call that asked for none', async () => {
    const engine = await rawEngine((socket) => void socket.end(`${switching}raw`));
    await expect(ask(engine)).rejects.toMatchObject({ code: expect.stringMatching(/^ENGINE_/) });
  });
});

describe('an address', () => {
  it.each([
    ['plain TCP', { host: '127.0.0.1', port: 2375 }],
    ['TCP with half of the certificates', { host: '127.0.0.1', port: 2375, tls: { ca: 'x', cert: '', key: 'y' } }],
    ['a relative path', { socketPath: 'docker.sock' }],
  ])('is refused when it is %s', (_, address) => {
    expect(() => createEngineClient(address as never)).toThrow(
      expect.objectContaining({ code: 'ENGINE_UNREACHABLE' }) as Error,
    );
  });
});

describe('words of an engine', () => {
  it('are shown on one line', () => {
    expect(oneLine(' a\u0000b\n\u2028c\u202e d ')).toBe('a b c d');
    expect(oneLine('short')).toBe('short');
  });
});
