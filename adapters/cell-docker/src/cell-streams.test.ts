import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CellRole } from '@glovebox/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { streamsOf } from './cell-streams.ts';
import { createEngineClient } from './engine-client.ts';

const home = mkdtempSync(join(tmpdir(), 'glovebox-cell-streams-'));
const socketPath = join(home, 'engine');
const switching = 'HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n';

/** The other ends of what the client got, in order. */
const engineEnds: net.Socket[] = [];
const server = net.createServer((socket) => {
  engineEnds.push(socket);
  socket.on('error', () => undefined);
  socket.once('data', () => {
    // What comes after the request is not read to its end: who closes over unread bytes resets the connection.
    socket.pause();
    socket.write(switching);
  });
});
beforeAll(async () => {
  server.listen(socketPath);
  await once(server, 'listening');
});
afterEach(() => {
  for (const socket of engineEnds.splice(0)) socket.destroy();
});
afterAll(() => {
  server.close();
  rmSync(home, { recursive: true, force: true });
});

const frame = (stream: number, payload: string, length = Buffer.byteLength(payload)): Buffer => {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(length, 4);
  return Buffer.concat([header, Buffer.from(payload)]);
};

async function attached() {
  const client = createEngineClient({ socketPath });
  const input = await client.hijack('/attach', {}, 5_000);
  const error = await client.hijack('/attach', {}, 5_000);
  return { attached: { input, error }, engine: { input: engineEnds[0], error: engineEnds[1] } };
}

function opened(given: Awaited<ReturnType<typeof attached>>['attached'], role: CellRole = 'run') {
  const broken: unknown[] = [];
  const streams = streamsOf(given, role, 'marker', {
    onBroken: (thrown) => broken.push(thrown),
    onEnd: () => undefined,
  });
  streams.channel.on('error', () => undefined).resume();
  streams.stdout.on('error', () => undefined).resume();
  return { streams, broken };
}

describe('connections to a container', () => {
  it.each(['input', 'error'] as const)(
    'that are reset before anybody listens end nothing but themselves, and are told: %s',
    async (which) => {
      const { attached: sockets, engine } = await attached();
      sockets[which].write(Buffer.alloc(1024 * 1024));
      await sleep(20);
      engine[which]?.destroy();
      while (!sockets[which].closed) await sleep(1);
      const reset = { code: expect.stringMatching(/^(ECONNRESET|EPIPE)$/) };
      expect(sockets[which].errored).toMatchObject(reset);
      const { streams, broken } = opened(sockets);
      expect(broken).toMatchObject([reset]);
      if (which === 'error') return void expect(await streams.stderr.toArray()).toEqual([]);
      await once(streams.channel, 'end');
      sockets.error.destroy();
    },
  );

  it('that were closed meanwhile are told too, and leave no stream that never ends', async () => {
    const { attached: sockets } = await attached();
    sockets.input.destroy();
    sockets.error.destroy();
    while (!sockets.error.closed) await sleep(1);
    const { streams, broken } = opened(sockets, 'probe');
    expect(broken).toMatchObject([{ code: 'ENGINE_UNREACHABLE' }, { code: 'ENGINE_UNREACHABLE' }]);
    await once(streams.channel, 'end');
    expect(await streams.stderr.toArray()).toEqual([]);
  });
});

describe('an output that ends', () => {
  it.each([
    ['within what a frame holds', frame(2, 'half', 100), 'half'],
    ['within the head of a frame', Buffer.concat([frame(2, 'one'), Buffer.from([2, 0, 0])]), 'one'],
  ])('%s is broken off, and gives what came', async (_, bytes, text) => {
    const { attached: sockets, engine } = await attached();
    const { streams, broken } = opened(sockets);
    engine.error?.end(bytes);
    expect(Buffer.concat(await streams.stderr.toArray()).toString()).toBe(text);
    expect(broken).toMatchObject([{ code: 'ENGINE_UNREACHABLE' }]);
  });

  it('behind a whole frame has been closed by the cell', async () => {
    const { attached: sockets, engine } = await attached();
    const { streams, broken } = opened(sockets);
    engine.error?.end(frame(2, 'whole'));
    expect(Buffer.concat(await streams.stderr.toArray()).toString()).toBe('whole');
    expect(broken).toEqual([]);
  });
});
