import { describe, expect, it } from 'vitest';
import { endOf, type Hostile, hostile, read, ruleOf, settle } from './kit.ts';
import { credit, data, end, frame, head, hello, open, reset, type, uint32 } from './wire.ts';

const ok = { status: 200, headers: {} };
const kib = (n: number): Buffer => Buffer.alloc(n * 1024, 1);

/** A server that answers every request at once, empty. */
function answering(): Hostile {
  return hostile({}, (stream) => {
    stream.respond(ok);
    stream.end();
  });
}

async function isAlive(peer: Hostile): Promise<boolean> {
  await settle();
  const ping = peer.server.ping();
  const sent = await peer.raw.frame(type.ping);
  peer.raw.say(frame(type.pong, 0, sent.payload));
  return (await ping) >= 0;
}

async function endAfter(peer: Hostile, ...frames: Uint8Array[]): Promise<string> {
  peer.raw.say(...frames);
  const ended = await endOf(peer.server);
  await settle();
  expect(peer.raw.transport.destroyed || peer.raw.transport.readableEnded).toBe(true);
  return ruleOf(ended);
}

const headOf = (headers: number): string =>
  JSON.stringify(['GET', 'a://b', ...Array.from({ length: headers }, (_, n) => [`h${n}`, '']).flat()]);

describe('corrupted ends the connection', () => {
  const cases: [string, Buffer[]][] = [
    ['text where frames are due', [Buffer.from('hello world, this is console.log\n')]],
    ['zeros', [Buffer.alloc(64)]],
    ['no HELLO first', [open(1)]],
    ['a second HELLO', [hello(), hello()]],
    ['HELLO with other magic', [hello({ magic: 'GLOVEBOX' })]],
    ['HELLO of another version', [hello({ version: 2 })]],
    ['HELLO with reserved bytes', [hello({ reserved: 1 })]],
    ['HELLO on a stream', [frame(type.hello, 1, hello().subarray(12))]],
    ['HELLO too short', [frame(type.hello, 0, hello().subarray(13))]],
    ['a frame size of 0 announced', [hello({ maxFrameBytes: 0 })]],
    ['a frame size above the greatest announced', [hello({ maxFrameBytes: 65_537 })]],
    ['a head size of 0 announced', [hello({ maxHeadBytes: 0 })]],
    ['a head size above the frame size announced', [hello({ maxFrameBytes: 1024, maxHeadBytes: 1025 })]],
    ['a stream window that makes crumbs announced', [hello({ streamWindowBytes: 16_383 })]],
    ['a connection window of 4 GiB announced', [hello({ connectionWindowBytes: 0xffff_ffff })]],
    ['no streams announced', [hello({ maxStreams: 0 })]],
    ['an unknown type', [hello(), frame(10, 0)]],
    ['type 0', [hello(), frame(0, 0)]],
    ['a flag', [hello(), frame(type.open, 1, '["GET","a://b"]', 1)]],
    ['reserved bytes', [hello(), frame(type.open, 1, '["GET","a://b"]', 0, 1)]],
    ['a frame above the greatest size', [hello(), open(1), frame(type.data, 1, Buffer.alloc(65_537))]],
    ['OPEN with an even id', [hello(), open(2)]],
    ['OPEN on stream 0', [hello(), open(0)]],
    ['OPEN with an id above 2^31-1', [hello(), open(0x8000_0001)]],
    ['OPEN with an id that was used', [hello(), open(1), open(1)]],
    ['OPEN with a lower id', [hello(), open(5), open(3)]],
    ['HEAD from a client', [hello(), open(1), head(1)]],
    ['PING from a client', [hello(), frame(type.ping, 0, uint32(1))]],
    ['DATA for a stream that was never opened', [hello(), data(1, 'x')]],
    ['DATA after END', [hello(), open(1), end(1), data(1, 'x')]],
    ['END twice', [hello(), open(1), end(1), end(1)]],
    ['END with a payload', [hello(), open(1), frame(type.end, 1, 'x')]],
    ['anything after RESET', [hello(), open(1), reset(1), data(1, 'x')]],
    ['RESET twice', [hello(), open(1), reset(1), reset(1)]],
    ['RESET for a stream that was never opened', [hello(), reset(1)]],
    ['RESET with a reason over 256 bytes', [hello(), open(1), reset(1, 'x'.repeat(257))]],
    ['RESET with a reason that is no text', [hello(), open(1), reset(1, '\x1b[2J')]],
    ['CREDIT for a stream that was never opened', [hello(), credit(1, 65_536)]],
    ['CREDIT with 5 bytes', [hello(), frame(type.credit, 0, Buffer.alloc(5))]],
    ['PONG on a stream', [hello(), frame(type.pong, 1, uint32(1))]],
    ['an empty head', [hello(), open(1, '')]],
    ['a head that is no JSON', [hello(), open(1, '["GET",')]],
    ['a head that is an object', [hello(), open(1, '{"method":"GET","url":"a://b","headers":{}}')]],
    ['a head with a number for a method', [hello(), open(1, '[1,"a://b"]')]],
    ['a head with a relative URL', [hello(), open(1, '["GET","/job"]')]],
    ['a head with a space in the URL', [hello(), open(1, '["GET","http://a b/"]')]],
    ['a head with a header without a value', [hello(), open(1, '["GET","a://b","x"]')]],
    ['a head with 129 headers', [hello(), open(1, headOf(129))]],
    ['a head with a header twice', [hello(), open(1, '["GET","a://b","x","1","x","2"]')]],
    ['a head with __proto__', [hello(), open(1, '["GET","a://b","__proto__","1"]')]],
    ['a head with __proto__ in escapes', [hello(), open(1, '["GET","a://b","\\u005f_proto__","1"]')]],
    ['a head with an upper-case header', [hello(), open(1, '["GET","a://b","X","1"]')]],
    ['a head with a line break in a value', [hello(), open(1, '["GET","a://b","x","1\\r\\ny: 2"]')]],
    ['a head with an array for a value', [hello(), open(1, '["GET","a://b","x",["1"]]')]],
    ['a head in UTF-8', [hello(), open(1, Buffer.from('["GET","a://b","x","é"]').toString('latin1'))]],
    ['a head with a lone surrogate', [hello(), open(1, '["GET","a://b","x","\\ud800"]')]],
    ['a head nested 32,000 deep', [hello(), open(1, '['.repeat(32_000))]],
  ];
  it.each(cases)('%s', async (_, frames) => {
    expect(await endAfter(hostile(), ...frames)).toBe('corrupted');
  });

  it('but the same frames in order and form do not', async () => {
    const peer = hostile();
    peer.raw.say(
      hello({
        maxFrameBytes: 1024,
        maxHeadBytes: 1024,
        streamWindowBytes: 16_384,
        connectionWindowBytes: 16_384,
        maxStreams: 1,
      }),
      open(3, '["GET","http://a/","x-a","\\u00e9","constructor","1"]'),
      data(3, 'x'),
      end(3),
      open(0x7fff_ffff, ` [ "M-SEARCH" , "a://b" ] `),
      reset(0x7fff_ffff, 'x'.repeat(256)),
    );
    expect(await isAlive(peer)).toBe(true);
    const many = hostile();
    many.raw.say(hello(), open(1, headOf(128)));
    expect(await isAlive(many)).toBe(true);
    expect(peer.streams.map((stream) => [stream.id, stream.head.method, { ...stream.head.headers }])).toEqual([
      [3, 'GET', { 'x-a': 'é', constructor: '1' }],
      [0x7fff_ffff, 'M-SEARCH', {}],
    ]);
    expect(({} as { polluted?: unknown }).polluted).toBe(undefined);
  });
});

describe('abuse ends the connection', () => {
  it('of the stream window, one byte over it', async () => {
    const within = hostile();
    within.raw.say(hello(), open(1), ...Array.from({ length: 4 }, () => data(1, kib(64))));
    expect(await isAlive(within)).toBe(true);
    within.raw.say(data(1, 'x'));
    expect(ruleOf(await endOf(within.server))).toBe('abuse stream-credit');
    await expect(read((within.streams[0] as (typeof within.streams)[0]).body)).rejects.toMatchObject({
      code: 'CHANNEL_CLOSED',
    });
  });

  it('of the connection window, one byte over it on a stream that has credit', async () => {
    const peer = hostile();
    peer.raw.say(hello());
    for (const id of [1, 3, 5, 7]) peer.raw.say(open(id), ...Array.from({ length: 4 }, () => data(id, kib(64))));
    peer.raw.say(open(9));
    expect(await isAlive(peer)).toBe(true);
    expect(await endAfter(peer, data(9, 'x'))).toBe('abuse connection-credit');
  });

  it('judges DATA by its header, before the payload comes', async () => {
    const peer = hostile();
    peer.raw.say(hello(), open(1), ...Array.from({ length: 4 }, () => data(1, kib(64))));
    expect(await endAfter(peer, data(1, kib(1)).subarray(0, 12))).toBe('abuse stream-credit');
  });

  it('by DATA without a payload', async () => {
    expect(await endAfter(hostile(), hello(), open(1), data(1, ''))).toBe('abuse empty-data');
  });

  it('by one stream more than may be open, also when resets of the server are not answered', async () => {
    const peer = hostile();
    peer.raw.say(hello());
    for (let id = 1; id < 128; id += 2) peer.raw.say(open(id));
    expect(await isAlive(peer)).toBe(true);
    for (const stream of peer.streams) stream.reset('no');
    await settle();
    expect(peer.raw.count(type.reset)).toBe(64);
    expect(await endAfter(peer, open(129))).toBe('abuse streams');

    const honest = hostile();
    honest.raw.say(hello());
    for (let id = 1; id < 128; id += 2) honest.raw.say(open(id));
    await settle();
    for (const stream of honest.streams) stream.reset('no');
    await settle();
    for (let id = 1; id < 128; id += 2) honest.raw.say(reset(id));
    for (let id = 129; id < 256; id += 2) honest.raw.say(open(id));
    expect(await isAlive(honest)).toBe(true);
    expect(honest.streams.length).toBe(128);
  });

  it('by opens and resets in a loop, one more than a second may have', async () => {
    const loop = (count: number): Buffer[] =>
      Array.from({ length: count }, (_, n) => Buffer.concat([open(1 + 2 * n), reset(1 + 2 * n)]));
    const limits = { maxStreams: 1000, maxOpensPerSecond: 500 };
    const peer = hostile(limits);
    peer.raw.say(hello(), ...loop(500));
    expect(await isAlive(peer)).toBe(true);
    expect(peer.server.stats.streams).toBe(500);
    expect(peer.raw.count(type.reset)).toBe(500);
    expect(await endAfter(hostile(limits), hello(), ...loop(501))).toBe('abuse opens');
    // At once they are also too many streams, as each counts until its RESET is answered.
    expect(await endAfter(hostile(), hello(), ...loop(65))).toBe('abuse streams');
  });

  it('by a head over its size', async () => {
    const fill = (length: number): string => `["GET","a://b","x","${'x'.repeat(length - 22)}"]`;
    const peer = hostile();
    peer.raw.say(hello(), open(1, fill(32_768)));
    expect(await isAlive(peer)).toBe(true);
    expect(await endAfter(peer, open(3, fill(32_769)))).toBe('abuse head-size');
  });

  it('by CREDIT that gives more than was sent, or crumbs', async () => {
    const sending = async (): Promise<Hostile> => {
      const peer = hostile({}, (stream) => {
        stream.respond(ok);
        void stream.write(kib(65));
      });
      peer.raw.say(hello(), open(1));
      await peer.raw.frame(type.data, 1);
      await settle();
      return peer;
    };
    const exact = await sending();
    exact.raw.say(credit(1, 65 * 1024));
    expect(await isAlive(exact)).toBe(true);
    expect(await endAfter(await sending(), credit(1, 65 * 1024 + 1))).toBe('abuse credit-overflow');
    expect(await endAfter(await sending(), credit(1, 0xffff_ffff))).toBe('abuse credit-overflow');
    expect(await endAfter(await sending(), credit(1, 64 * 1024 - 1))).toBe('abuse credit-crumbs');
    expect(await endAfter(await sending(), credit(1, 0))).toBe('abuse credit-crumbs');
    expect(await endAfter(await sending(), credit(0, 1))).toBe('abuse credit-crumbs');
    expect(await endAfter(await sending(), credit(0, 256 * 1024))).toBe('abuse credit-overflow');
  });

  it('by frames for streams that are over, once there are more than can have crossed', async () => {
    const peer = answering();
    peer.raw.say(hello(), open(1), end(1));
    await peer.raw.frame(type.end, 1);
    peer.raw.say(reset(1));
    expect(await isAlive(peer)).toBe(true);
    expect(await endAfter(peer, reset(1))).toBe('abuse late-frames');
  });

  it('counting the CREDITs that can have crossed the END of a stream exactly', async () => {
    const over = async (): Promise<Hostile> => {
      const peer = hostile({}, async (stream) => {
        stream.respond(ok);
        await stream.write(kib(130));
        stream.end();
      });
      peer.raw.say(hello(), open(1), end(1));
      await peer.raw.frame(type.end, 1);
      return peer;
    };
    const honest = await over();
    honest.raw.say(credit(1, 64 * 1024), credit(1, 64 * 1024), reset(1));
    expect(await isAlive(honest)).toBe(true);
    expect(await endAfter(honest, credit(1, 64 * 1024))).toBe('abuse late-frames');
  });

  it('by PONG that answers nothing, or something else', async () => {
    expect(await endAfter(hostile(), hello(), frame(type.pong, 0, uint32(1)))).toBe('abuse pong');
    const peer = hostile();
    peer.raw.say(hello());
    void peer.server.ping();
    const ping = await peer.raw.frame(type.ping);
    expect(await endAfter(peer, frame(type.pong, 0, uint32(ping.payload.readUInt32BE() + 1)))).toBe('abuse pong');
  });
});

describe('a flood', () => {
  it('of one-byte DATA, cut at every place, is kept in less memory than two windows', async () => {
    const peer = hostile({ streamWindowBytes: 32_768, connectionWindowBytes: 131_072 });
    peer.raw.say(hello());
    for (const id of [1, 3, 5, 7]) peer.raw.say(open(id));
    await settle();
    globalThis.gc?.();
    const before = process.memoryUsage();
    for (const id of [1, 3, 5, 7]) {
      const crumbs = Buffer.concat(Array.from({ length: 2048 }, () => data(id, 'x')));
      for (let n = 0; n < 16; n++) {
        // Each in a buffer of its own, which a view of one byte would keep alive.
        peer.raw.say(Buffer.from(crumbs));
        while (peer.raw.transport.writableLength > 0) await new Promise((resolve) => setTimeout(resolve, 2));
      }
    }
    expect(await isAlive(peer)).toBe(true);
    globalThis.gc?.();
    const after = process.memoryUsage();
    // Without a forced collection some garbage is still counted.
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(globalThis.gc ? 262_144 : 4 * 1024 * 1024);
    for (const [i, stream] of peer.streams.entries()) {
      peer.raw.say(end(1 + 2 * i));
      const chunks: Uint8Array[] = [];
      for await (const chunk of stream.body) chunks.push(chunk);
      expect(Buffer.concat(chunks).length).toBe(32_768);
      expect(chunks.length).toBeLessThanOrEqual(8);
    }
  });

  it('of frames is read at a bounded pace, so that a turn of the event loop stays short', async () => {
    const peer = hostile();
    peer.raw.say(hello(), open(1), ...Array.from({ length: 16_384 }, () => data(1, 'x')), end(1));
    let most = 0;
    let sum = 0;
    for await (const chunk of (await peer.take()).body) {
      most = Math.max(most, chunk.length);
      sum += chunk.length;
    }
    expect(sum).toBe(16_384);
    // All of it was there at once, but no turn took more than the pace allows.
    expect(most).toBeLessThanOrEqual(4096);
    expect(await isAlive(peer)).toBe(true);
  });

  it('of requests whose answers nobody reads leaves no more unsent than one transport buffer and a window', async () => {
    const peer = hostile({}, (stream) => {
      stream.respond(ok);
      void stream.write(kib(256));
    });
    peer.raw.transport.pause();
    peer.raw.say(hello({ streamWindowBytes: 64 * 1024 * 1024, connectionWindowBytes: 256 * 1024 * 1024 }));
    for (let id = 1; id < 128; id += 2) peer.raw.say(open(id));
    await settle(100);
    expect(peer.server.stats.bytesOut).toBeLessThan(1024 * 1024);
    peer.raw.transport.resume();
    await settle(200);
    expect(peer.server.stats.bytesOut).toBeGreaterThan(64 * 256 * 1024);
  });
});

describe('the transport', () => {
  it('that ends between frames is closed, within a frame lost', async () => {
    const between = hostile();
    between.raw.say(hello(), open(1), data(1, 'x'));
    between.raw.transport.end();
    expect(await endOf(between.server)).toEqual({ kind: 'closed' });
    for (const cut of [1, 11, 12, 13, 20]) {
      const within = hostile();
      within.raw.say(hello(), data(1, kib(1)).subarray(0, 0), open(1).subarray(0, cut));
      within.raw.transport.end();
      expect(await endOf(within.server)).toEqual({ kind: 'lost', detail: 'the transport ended within a frame' });
    }
  });

  it('that ends leaves a body readable that had arrived to its END, and fails one that had not', async () => {
    const peer = hostile();
    peer.raw.say(hello(), open(1), data(1, 'the result'), end(1), open(3), data(3, 'half of it'));
    await settle();
    peer.raw.transport.end();
    expect(await endOf(peer.server)).toEqual({ kind: 'closed' });
    const [complete, half] = await Promise.all([peer.take(), peer.take()]);
    expect((await read(complete.body)).toString()).toBe('the result');
    await expect(read(half.body)).rejects.toMatchObject({ code: 'CHANNEL_CLOSED' });
    expect([complete.signal.aborted, half.signal.aborted]).toEqual([true, true]);
  });

  it('that went on to break a rule leaves nothing readable', async () => {
    const peer = hostile();
    peer.raw.say(hello(), open(1), data(1, 'the result'), end(1), Buffer.from('a stray line of text'));
    expect((await endOf(peer.server)).kind).toBe('corrupted');
    await expect(read((await peer.take()).body)).rejects.toMatchObject({ code: 'CHANNEL_CLOSED' });
  });

  it('that ends before any byte is closed', async () => {
    const peer = hostile();
    peer.raw.transport.end();
    expect(await endOf(peer.server)).toEqual({ kind: 'closed' });
  });
});
