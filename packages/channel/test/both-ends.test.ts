import { duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { ChannelError, connectClient, serveChannel } from '../src/index.ts';
import { endOf, isPending, pair, read, settle } from './kit.ts';

const request = { method: 'POST', url: 'http://control.invalid/result', headers: {} };
const ok = { status: 200, headers: {} };
const bytes = (size: number, fill = 7): Buffer => Buffer.alloc(size, fill);

describe('a request and its answer', () => {
  it('carry heads and bodies both ways unchanged', async () => {
    const { client, take } = pair();
    const stream = client.open({
      method: 'PUT',
      url: 'https://api.example.com/a?b=%20',
      headers: { 'x-a': 'é "quoted" \\ \t', b: '' },
    });
    const server = await take();
    expect({ ...server.head, headers: { ...server.head.headers } }).toEqual({
      method: 'PUT',
      url: 'https://api.example.com/a?b=%20',
      headers: { 'x-a': 'é "quoted" \\ \t', b: '' },
    });
    await stream.write(Buffer.from('hello '));
    await stream.write(Buffer.from('host'));
    stream.end();
    expect((await read(server.body)).toString()).toBe('hello host');
    server.respond({ status: 404, headers: { 'content-type': 'text/plain' } });
    await server.write(Buffer.from('no'));
    server.end();
    const answer = await stream.response;
    expect([answer.status, { ...answer.headers }]).toEqual([404, { 'content-type': 'text/plain' }]);
    expect((await read(stream.body)).toString()).toBe('no');
  });

  it('may overlap: the answer begins before the request has ended', async () => {
    const { client, take } = pair();
    const stream = client.open(request);
    const server = await take();
    server.respond(ok);
    await stream.response;
    await stream.write(Buffer.from('late'));
    stream.end();
    expect((await read(server.body)).toString()).toBe('late');
    server.end();
    expect((await read(stream.body)).length).toBe(0);
  });

  it('arrive whole when they are longer than every window', async () => {
    const { client, take } = pair();
    const stream = client.open(request);
    const server = await take();
    const received = read(server.body);
    for (let i = 0; i < 40; i++) await stream.write(bytes(100_000, i));
    stream.end();
    const all = await received;
    expect(all.length).toBe(4_000_000);
    for (let i = 0; i < 40; i++)
      expect(all.subarray(i * 100_000, (i + 1) * 100_000).equals(bytes(100_000, i))).toBe(true);
  });

  it('give heads and chunks no prototype to look things up on', async () => {
    const { client, take } = pair();
    const stream = client.open({ ...request, headers: { constructor: 'x' } });
    const server = await take();
    expect(Object.getPrototypeOf(server.head.headers)).toBe(null);
    server.respond(ok);
    expect(Object.getPrototypeOf((await stream.response).headers)).toBe(null);
  });
});

describe('back-pressure', () => {
  it('stops the writer at the stream window when nobody reads, and lets it go on when somebody does', async () => {
    const { client, server, take } = pair();
    const stream = client.open(request);
    const host = await take();
    let written = 0;
    const writing = (async () => {
      for (let i = 0; i < 32; i++) {
        await stream.write(bytes(65_536));
        written += 65_536;
      }
      stream.end();
    })();
    await settle(100);
    expect(written).toBe(262_144);
    expect(server.stats.bytesIn).toBeLessThan(262_144 + 4096);
    expect((await read(host.body)).length).toBe(32 * 65_536);
    await writing;
  });

  it('stops all writers together at the connection window', async () => {
    const { client, server, take } = pair();
    const hosts = [];
    for (let i = 0; i < 8; i++) {
      const stream = client.open(request);
      hosts.push(await take());
      void stream.write(bytes(262_144));
      stream.end();
    }
    await settle(100);
    expect(server.stats.bytesIn).toBeGreaterThan(1_048_576);
    expect(server.stats.bytesIn).toBeLessThan(1_048_576 + 4096);
    const all = await Promise.all(hosts.map((host) => read(host.body)));
    expect(all.map((body) => body.length)).toEqual(hosts.map(() => 262_144));
  });

  it('shares the connection window fairly: a late stream gets its turn while others could fill it alone', async () => {
    const { client, take } = pair();
    for (let i = 0; i < 6; i++) {
      const greedy = client.open(request);
      const host = await take();
      void greedy.write(bytes(20_000_000));
      const slow = async (): Promise<void> => {
        for await (const _ of host.body) await settle(1);
      };
      slow().catch(() => {});
    }
    const late = client.open(request);
    const host = await take();
    void late.write(bytes(300_000));
    late.end();
    expect((await read(host.body)).length).toBe(300_000);
    client.close();
  });

  it('lets a small answer through while the bodies of all other streams lie unread at the client', async () => {
    const { client, take } = pair();
    for (let i = 0; i < 63; i++) {
      client.open(request);
      const host = await take();
      host.respond(ok);
      void host.write(bytes(300_000));
    }
    const cancel = client.open(request);
    const host = await take();
    host.respond(ok);
    void host.write(Buffer.from('stop'));
    host.end();
    expect((await read(cancel.body)).toString()).toBe('stop');
    client.close();
  });

  it('pays back a body that the server answers without reading, so that later requests find the window open', async () => {
    const { client } = pair({}, (stream) => {
      stream.respond({ status: 413, headers: {} });
      stream.end();
    });
    for (let i = 0; i < 12; i++) {
      const stream = client.open(request);
      await stream.write(bytes(200_000));
      stream.end();
      expect((await stream.response).status).toBe(413);
    }
  });

  it('drops the rest of a request when the server leaves its body early', async () => {
    const { client, take } = pair();
    const stream = client.open(request);
    const host = await take();
    const writing = stream.write(bytes(2_000_000));
    for await (const chunk of host.body) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    await writing;
    stream.end();
    host.respond(ok);
    host.end();
    expect((await stream.response).status).toBe(200);
  });

  it('resets the stream when the client leaves an answer early', async () => {
    const { client, take } = pair();
    const stream = client.open(request);
    const host = await take();
    host.respond(ok);
    const writing = host.write(bytes(2_000_000));
    for await (const chunk of stream.body) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
    await expect(writing).rejects.toMatchObject({ code: 'CHANNEL_RESET' });
    expect(host.signal.aborted).toBe(true);
  });
});

describe('a reset', () => {
  it('by the client aborts the signal, the body and the writes of the server, with its reason', async () => {
    const { client, take } = pair();
    const stream = client.open(request);
    const host = await take();
    const body = read(host.body);
    host.respond(ok);
    const writing = host.write(bytes(1_000_000));
    expect(host.signal.aborted).toBe(false);
    stream.reset('changed my mind');
    await expect(body).rejects.toMatchObject({
      code: 'CHANNEL_RESET',
      message: expect.stringContaining('changed my mind'),
    });
    await expect(writing).rejects.toMatchObject({ code: 'CHANNEL_RESET' });
    expect(host.signal.aborted).toBe(true);
    await expect(stream.response).rejects.toMatchObject({ code: 'CHANNEL_RESET' });
    await expect(stream.write(bytes(1))).rejects.toMatchObject({ code: 'CHANNEL_RESET' });
    stream.end();
    host.end();
  });

  it('by the server fails the answer, the body and the writes of the client', async () => {
    const { client, take } = pair();
    const stream = client.open(request);
    const host = await take();
    const writing = stream.write(bytes(1_000_000));
    host.reset('not like this');
    await expect(stream.response).rejects.toMatchObject({
      code: 'CHANNEL_RESET',
      message: expect.stringContaining('not like this'),
    });
    await expect(writing).rejects.toBeInstanceOf(ChannelError);
    await expect(read(stream.body)).rejects.toMatchObject({ code: 'CHANNEL_RESET' });
    expect(host.signal.aborted).toBe(true);
    host.respond(ok);
    host.end();
  });

  it('of one stream leaves the others alone, whatever was on its way', async () => {
    const { client, server, take } = pair();
    const kept = client.open(request);
    const keptHost = await take();
    keptHost.respond(ok);
    const keptBody = read(keptHost.body);
    for (let i = 0; i < 200; i++) {
      const stream = client.open(request);
      const host = await take();
      host.respond(ok);
      void host.write(bytes(50_000));
      void stream.write(bytes(50_000));
      if (i % 3 === 0) host.reset('server');
      if (i % 3 === 1) stream.reset('client');
      if (i % 3 === 2) {
        stream.reset('both');
        host.reset('both');
      }
      await settle(i % 5);
    }
    await kept.write(bytes(500_000));
    kept.end();
    expect((await keptBody).length).toBe(500_000);
    keptHost.end();
    expect((await read(kept.body)).length).toBe(0);
    client.close();
    expect(await endOf(server)).toEqual({ kind: 'closed' });
  });

  it('before OPEN was sent never reaches the server', async () => {
    const { client, server } = pair();
    client.open(request).reset('at once');
    const next = client.open(request);
    next.end();
    await settle();
    expect(server.stats.streams).toBe(1);
  });

  it('cuts its reason to 256 characters of printable ASCII', async () => {
    const { client, take } = pair();
    const stream = client.open(request);
    const host = await take();
    const body = read(host.body);
    stream.reset(`é\n${'x'.repeat(1000)}`);
    await expect(body).rejects.toMatchObject({
      message: `the stream was reset by the other side: ??${'x'.repeat(254)}`,
    });
  });
});

describe('the end', () => {
  it('by the client resolves both sides as closed, and fails what was open', async () => {
    const { client, server, take } = pair();
    const stream = client.open(request);
    const host = await take();
    client.close();
    expect(await endOf(client)).toEqual({ kind: 'closed' });
    expect(await endOf(server)).toEqual({ kind: 'closed' });
    await expect(stream.response).rejects.toMatchObject({ code: 'CHANNEL_CLOSED' });
    expect(host.signal.aborted).toBe(true);
    expect(() => client.open(request)).toThrow(expect.objectContaining({ code: 'CHANNEL_CLOSED' }));
  });

  it('by the server resolves both sides as closed, and fails what was open', async () => {
    const { client, server, take } = pair();
    const stream = client.open(request);
    await take();
    server.close();
    server.close();
    expect(await endOf(server)).toEqual({ kind: 'closed' });
    expect(await endOf(client)).toEqual({ kind: 'closed' });
    await expect(stream.response).rejects.toBeInstanceOf(ChannelError);
    await expect(server.ping()).rejects.toMatchObject({ code: 'CHANNEL_CLOSED' });
  });

  it('by the client withdraws what it had asked for, also where the request was complete', async () => {
    const { client, server, take } = pair();
    const stream = client.open(request);
    const host = await take();
    await stream.write(Buffer.from('the result'));
    stream.end();
    await settle();
    client.close();
    await server.ended;
    await expect(read(host.body)).rejects.toMatchObject({ code: 'CHANNEL_RESET' });
  });

  it('comes even when the other side never reads nor closes', async () => {
    const [, b] = duplexPair();
    const server = serveChannel(b, () => {});
    server.close();
    expect(await endOf(server)).toEqual({ kind: 'closed' });
  });

  it('is lost when the transport was destroyed, before or after the start', async () => {
    const [a, b] = duplexPair();
    b.destroy();
    expect(await endOf(serveChannel(b, () => {}))).toEqual({ kind: 'lost', detail: 'the transport was closed' });
    const client = connectClient(a);
    a.destroy(Object.assign(new Error('gone'), { code: 'ECONNRESET' }));
    expect(await endOf(client)).toEqual({ kind: 'lost', detail: 'the transport failed: ECONNRESET' });
  });

  it('is lost, not a crash, when the handler of streams throws or rejects', async () => {
    const throwing = pair({}, () => {
      throw new Error('a defect');
    });
    throwing.client.open(request);
    expect(await endOf(throwing.server)).toEqual({ kind: 'lost', detail: 'the handler of streams threw: a defect' });
    const rejecting = pair({}, async () => Promise.reject(new Error('a defect')));
    rejecting.client.open(request);
    expect(await endOf(rejecting.server)).toEqual({ kind: 'lost', detail: 'the handler of streams threw: a defect' });
  });

  it('does not come from a handler that rejects because its stream was reset', async () => {
    const { client, server } = pair({}, async (stream) => {
      await read(stream.body);
    });
    const stream = client.open(request);
    await settle();
    stream.reset('gone');
    await settle();
    expect(await server.ping()).toBeGreaterThanOrEqual(0);
  });

  it('does not come from a handler that rejects after its stream has ended in order', async () => {
    let rejected = false;
    const { client, server } = pair({}, async (stream) => {
      await read(stream.body);
      stream.respond(ok);
      stream.end();
      await settle();
      rejected = true;
      throw new Error('what it did afterwards');
    });
    const stream = client.open(request);
    stream.end();
    await read(stream.body);
    while (!rejected) await settle();
    await settle();
    expect(await server.ping()).toBeGreaterThanOrEqual(0);
  });
});

describe('a ping', () => {
  it('comes back, also many at once', async () => {
    const { server } = pair();
    const times = await Promise.all([server.ping(), server.ping(), server.ping()]);
    for (const ms of times) expect(ms).toBeGreaterThanOrEqual(0);
    expect(await server.ping()).toBeGreaterThanOrEqual(0);
  });

  it('rejects when the connection ends first', async () => {
    const [a, b] = duplexPair();
    const server = serveChannel(b, () => {});
    const ping = server.ping();
    expect(await isPending(ping)).toBe(true);
    a.destroy();
    await expect(ping).rejects.toMatchObject({ code: 'CHANNEL_CLOSED' });
  });
});

describe('misuse by the caller', () => {
  it('throws: an answer given twice, a body before its head, a write or an end after the end', async () => {
    const { client, take } = pair();
    const stream = client.open(request);
    const host = await take();
    const misuse = expect.objectContaining({ code: 'CHANNEL_MISUSE' });
    expect(() => host.write(bytes(1))).toThrow(misuse);
    expect(() => host.end()).toThrow(misuse);
    host.respond(ok);
    expect(() => host.respond(ok)).toThrow(misuse);
    host.end();
    expect(() => host.write(bytes(1))).toThrow(misuse);
    expect(() => host.end()).toThrow(misuse);
    stream.end();
    expect(() => stream.write(bytes(1))).toThrow(misuse);
  });

  it('rejects a second reader of one body', async () => {
    const { client, take } = pair();
    client.open(request);
    const host = await take();
    const first = host.body[Symbol.asyncIterator]();
    const second = host.body[Symbol.asyncIterator]();
    void first.next();
    await expect(second.next()).rejects.toMatchObject({ code: 'CHANNEL_MISUSE' });
  });

  it('rejects reading a request that was answered to the end unread, rather than showing it as empty', async () => {
    const { client, take } = pair();
    const stream = client.open(request);
    const host = await take();
    void stream.write(Buffer.from('unread'));
    stream.end();
    host.respond(ok);
    host.end();
    await stream.response;
    await expect(read(host.body)).rejects.toMatchObject({ code: 'CHANNEL_MISUSE' });
  });

  it('resets a stream whose chunk was detached before it could be sent, and sends nothing else in its place', async () => {
    const { client, server, take } = pair();
    const stream = client.open(request);
    const host = await take();
    const body = read(host.body);
    const chunk = new Uint8Array(1000);
    const writing = stream.write(chunk);
    structuredClone(chunk, { transfer: [chunk.buffer] });
    await expect(writing).rejects.toMatchObject({ code: 'CHANNEL_MISUSE' });
    await expect(body).rejects.toMatchObject({ code: 'CHANNEL_RESET' });
    expect(await server.ping()).toBeGreaterThanOrEqual(0);
  });

  it('never ends a body in order that lost a chunk, also when it was ended before that was seen', async () => {
    const { client, take } = pair();
    const stream = client.open(request);
    const host = await take();
    const requested = read(host.body);
    const chunk = new Uint8Array(1000);
    const writing = stream.write(chunk);
    stream.end();
    structuredClone(chunk, { transfer: [chunk.buffer] });
    await expect(writing).rejects.toMatchObject({ code: 'CHANNEL_MISUSE' });
    await expect(requested).rejects.toMatchObject({ code: 'CHANNEL_RESET' });

    const asking = client.open(request);
    asking.end();
    const answering = await take();
    await read(answering.body);
    answering.respond(ok);
    const answer = new Uint8Array(1000);
    const answered = answering.write(answer);
    answering.end();
    structuredClone(answer, { transfer: [answer.buffer] });
    await expect(answered).rejects.toMatchObject({ code: 'CHANNEL_MISUSE' });
    await expect(read(asking.body)).rejects.toMatchObject({ code: 'CHANNEL_RESET' });
  });

  it('refuses limits that make no sense, by name', () => {
    const [a] = duplexPair();
    expect(() => connectClient(a, { maxStreams: 0 })).toThrow('maxStreams');
    expect(() => connectClient(a, { maxFrameBytes: 100_000 })).toThrow('maxFrameBytes');
    expect(() => connectClient(a, { maxFrameBytes: 2048, maxHeadBytes: 4096 })).toThrow('maxHeadBytes');
  });
});

describe('the client keeps within what the server accepts', () => {
  it('and throws at one stream too many, until one is over', async () => {
    const { client, take } = pair({ server: { maxStreams: 3 } });
    await settle();
    const streams = [client.open(request), client.open(request), client.open(request)];
    expect(() => client.open(request)).toThrow(expect.objectContaining({ code: 'CHANNEL_STREAM_LIMIT' }));
    for (const stream of streams) {
      stream.end();
      const host = await take();
      host.respond(ok);
      host.end();
    }
    await settle();
    client.open(request);
  });

  it('and fails those that it had opened before it knew', async () => {
    const { client, server, take } = pair({ server: { maxStreams: 2 } });
    const streams = Array.from({ length: 5 }, () => client.open(request));
    for (const stream of streams.slice(2))
      await expect(stream.response).rejects.toMatchObject({ code: 'CHANNEL_STREAM_LIMIT' });
    for (const _ of streams.slice(0, 2)) (await take()).respond(ok);
    expect(await Promise.all(streams.slice(0, 2).map(async (stream) => (await stream.response).status))).toEqual([
      200, 200,
    ]);
    expect(server.stats.streams).toBe(2);
  });

  it('and holds OPENs back rather than pass the rate, however late the server reads', async () => {
    const { client, server } = pair({ server: { maxOpensPerSecond: 40 } }, (stream) => {
      stream.respond(ok);
      stream.end();
    });
    const started = performance.now();
    for (let i = 0; i < 100; i++) {
      const stream = client.open(request);
      stream.end();
      await stream.response;
      await read(stream.body);
    }
    expect(performance.now() - started).toBeGreaterThan(2000);
    client.close();
    expect(await endOf(server)).toEqual({ kind: 'closed' });
  });

  it('and refuses a head that is too long or cannot travel, without harm to the connection', async () => {
    const { client, server } = pair();
    const long = { ...request, headers: { 'x-long': 'x'.repeat(40_000) } };
    expect(() => client.open(long)).toThrow(expect.objectContaining({ code: 'CHANNEL_HEAD_INVALID' }));
    expect(() => client.open({ ...request, headers: { 'x-a': 'a\r\nb: c' } })).toThrow(
      expect.objectContaining({ code: 'CHANNEL_HEAD_INVALID' }),
    );
    client.open({ ...request, headers: { 'x-long': 'x'.repeat(30_000) } });
    expect(await server.ping()).toBeGreaterThanOrEqual(0);
  });
});

it('flush hands over what was written before the running task is over', async () => {
  const [a, b] = duplexPair();
  const client = connectClient(a);
  serveChannel(b, () => {});
  await settle();
  void client.open(request).write(Buffer.from('now'));
  expect(a.writableLength).toBe(0);
  client.flush();
  expect(a.writableLength).toBeGreaterThan(0);
});
