import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it } from 'vitest';
import { type ServerStream, serveChannel } from '../src/index.ts';
import { endOf, read } from './kit.ts';

const guest = fileURLToPath(new URL('./children/guest.ts', import.meta.url));
const children: ChildProcess[] = [];

interface Guest {
  child: ChildProcess;
  channel: Duplex;
  /** What it wrote to stdout by its end. */
  said: Promise<string>;
}

/** Node.js makes the descriptor one end of a socketpair, as the OCI driver does. */
function start(role: string): Guest {
  const child = spawn(process.execPath, [guest, role], { env: {}, stdio: ['ignore', 'pipe', 'inherit', 'pipe'] });
  children.push(child);
  return {
    child,
    channel: child.stdio[3] as Duplex,
    said: read(child.stdout as Duplex).then((bytes) => bytes.toString()),
  };
}

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
});

const ok = { status: 200, headers: {} };

async function endless(stream: ServerStream): Promise<number> {
  stream.respond(ok);
  const chunk = Buffer.alloc(64 * 1024, 1);
  let sent = 0;
  try {
    for (;;) {
      await stream.write(chunk);
      sent += chunk.length;
    }
  } catch {
    return sent;
  }
}

describe('over a socketpair to another process', () => {
  it('streams of several MiB cross each other and arrive unchanged', async () => {
    const { channel, said } = start('echo');
    const server = serveChannel(channel, async (stream) => {
      stream.respond(ok);
      for await (const chunk of stream.body) await stream.write(chunk);
      stream.end();
    });
    const sha256 = (n: number): string =>
      createHash('sha256')
        .update(Buffer.alloc(2 * 1024 * 1024 * n, n))
        .digest('hex');
    expect(JSON.parse(await said)).toEqual({ digests: [sha256(1), sha256(2), sha256(3)], end: { kind: 'closed' } });
    expect(await endOf(server)).toEqual({ kind: 'closed' });
  });

  it('a process that is killed within a frame is lost, and what it had sent before is there', async () => {
    const { channel } = start('half');
    let seen = '';
    let failed: unknown;
    const server = serveChannel(channel, async (stream) => {
      try {
        for await (const chunk of stream.body) seen += Buffer.from(chunk).toString();
      } catch (error) {
        failed = error;
      }
    });
    expect((await endOf(server)).kind).toBe('lost');
    expect(seen).toBe('wholeAA');
    expect(failed).toMatchObject({ code: 'CHANNEL_CLOSED' });
  });

  it('a process that is killed between frames is closed or lost, never corrupted, and every stream hears of it', async () => {
    const { child, channel } = start('idle');
    let aborted: Promise<unknown> | undefined;
    const server = serveChannel(channel, (stream) => {
      aborted = once(stream.signal, 'abort');
      stream.respond(ok);
      child.kill('SIGKILL');
    });
    expect(['closed', 'lost']).toContain((await endOf(server)).kind);
    await aborted;
  });

  it('a reader that asks and does not read stops the host at the window', async () => {
    const { child, channel } = start('idle');
    let sent: Promise<number> | undefined;
    const server = serveChannel(channel, (stream) => {
      sent = endless(stream);
    });
    await server.ping();
    await quiet(() => server.stats.bytesOut);
    expect(server.stats.bytesOut).toBeGreaterThan(256 * 1024);
    expect(server.stats.bytesOut).toBeLessThan(256 * 1024 + 4096);
    child.kill('SIGKILL');
    expect(await sent).toBe(256 * 1024);
  });

  it('a stopped process stops the host before the window, however many streams write', async () => {
    const { child, channel } = start('idle');
    const before = process.memoryUsage().rss;
    const server = serveChannel(channel, (stream) => {
      child.kill('SIGSTOP');
      void endless(stream);
    });
    while (server.stats.streams === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    await quiet(() => server.stats.bytesOut);
    expect(server.stats.bytesOut).toBeLessThan(1024 * 1024);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    child.kill('SIGKILL');
    expect((await endOf(server)).kind).not.toBe('corrupted');
  });

  it('a host that reads slowly keeps the memory of the sending process flat', async () => {
    const { channel, said } = start('upload');
    let received = 0;
    serveChannel(channel, async (stream) => {
      for await (const chunk of stream.body) {
        received += chunk.length;
        if (received % (1024 * 1024) < chunk.length) await new Promise((resolve) => setTimeout(resolve, 2));
      }
      stream.respond({ status: 204, headers: {} });
      stream.end();
    });
    const told = JSON.parse(await said);
    expect(told.status).toBe(204);
    expect(received).toBe(64 * 1024 * 1024);
    expect(told.grownBytes).toBeLessThan(48 * 1024 * 1024);
  });

  it('a cancel reaches the process, and its reset reaches the host', async () => {
    const { channel, said } = start('cancel');
    let cancel: ServerStream | undefined;
    let sending: Promise<number> | undefined;
    const server = serveChannel(channel, (stream) => {
      if (stream.head.url.endsWith('/cancel')) {
        cancel = stream;
        return;
      }
      sending = endless(stream);
      void once(stream.signal, 'abort').then(() => server.close());
      cancel?.respond(ok);
      void cancel?.write(Buffer.from('{"reason":"enough","graceMs":2000}'));
      cancel?.end();
    });
    expect(JSON.parse(await said)).toEqual({ text: '{"reason":"enough","graceMs":2000}', failed: 'CHANNEL_RESET' });
    expect(await sending).toBeGreaterThan(0);
  });

  it('what was flushed arrives from a process that never yields again, and a ping to it stays open', async () => {
    const { child, channel } = start('spin');
    let server: ReturnType<typeof serveChannel> | undefined;
    const words = new Promise<string>((resolve) => {
      server = serveChannel(channel, async (stream) => {
        if (stream.head.url.endsWith('/warm')) {
          stream.respond(ok);
          stream.end();
          return;
        }
        for await (const chunk of stream.body) resolve(Buffer.from(chunk).toString());
      });
    });

    expect(await words).toBe('last words');
    const ping = (server as unknown as ReturnType<typeof serveChannel>).ping();
    child.kill('SIGKILL');
    await expect(ping).rejects.toMatchObject({ code: 'CHANNEL_CLOSED' });
  });

  it('a process that writes to the descriptor behind the channel is corrupted', async () => {
    const { channel, said } = start('stray');
    const server = serveChannel(channel, (stream) => {
      stream.respond(ok);
      stream.end();
    });
    expect((await endOf(server)).kind).toBe('corrupted');
    expect(['closed', 'lost']).toContain(JSON.parse(await said).kind);
  });
});

/** Until a counter has not moved for a while. */
async function quiet(counter: () => number): Promise<void> {
  for (let last = -1, still = 0; still < 10; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    still = counter() === last && last > 0 ? still + 1 : 0;
    last = counter();
  }
}
