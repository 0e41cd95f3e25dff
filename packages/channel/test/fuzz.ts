/**
 * Feeds both ends with frames that are nearly right, and with bytes that are not, cut at any place. By hand:
 *
 *     node packages/channel/test/fuzz.ts [seed] [seconds]
 *
 * A failure names the seed that shows it again.
 */
import { type Duplex, duplexPair } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { type ChannelEnd, type ClientStream, connectClient, type ServerStream, serveChannel } from '../src/index.ts';
import { pieces, Random } from './random.ts';
import * as wire from './wire.ts';

export interface FuzzTally {
  rounds: number;
  /** By kind of end, and `alive` where nothing was wrong with what was sent. */
  ends: { [kind: string]: number };
  /** By rule of abuse. */
  rules: { [rule: string]: number };
  bytes: number;
}

const limits = {
  maxStreams: 8,
  maxFrameBytes: 2048,
  maxHeadBytes: 1024,
  streamWindowBytes: 16_384,
  connectionWindowBytes: 32_768,
  maxOpensPerSecond: 40,
};

/** One connection, from a seed: a server that gets what a client might send, or the other way round. @throws when it does not end typed. */
export async function fuzzOnce(seed: number, tally: FuzzTally): Promise<void> {
  const random = new Random(seed);
  const toServer = random.chance(0.7);
  const [mine, theirs] = duplexPair();
  mine.on('error', () => {});
  mine.resume();
  const ended = toServer ? startServer(random, theirs) : startClient(random, theirs);
  let end: ChannelEnd | undefined;
  void ended.then((value) => {
    end = value;
  });
  const frames = toServer ? clientFrames(random) : serverFrames(random);
  const bytes = damage(random, frames);
  tally.bytes += bytes.length;
  for (const piece of pieces(random, bytes)) {
    if (end || mine.destroyed) break;
    mine.write(piece);
    if (random.chance(0.3)) await turn();
  }
  await drained(mine, () => end !== undefined);
  const wasAlive = end === undefined;
  if (wasAlive) {
    if (random.chance(0.5)) mine.end();
    else mine.destroy();
  }
  const final = await withinTurns(ended, seed);
  tally.rounds++;
  const name = wasAlive ? 'alive' : final.kind;
  tally.ends[name] = (tally.ends[name] ?? 0) + 1;
  if (final.kind === 'abuse') tally.rules[final.rule] = (tally.rules[final.rule] ?? 0) + 1;
  if (final.kind !== 'closed' && !/^[\x20-\x7e]{1,300}$/.test(final.detail))
    throw new Error(`seed ${seed}: a detail that is no plain text`);
  mine.destroy();
}

/** Many rounds, with nothing thrown past the codec meanwhile. @param until called before each round. */
export async function fuzz(seed: number, until: (tally: FuzzTally) => boolean): Promise<FuzzTally> {
  const tally: FuzzTally = { rounds: 0, ends: {}, rules: {}, bytes: 0 };
  let escaped: unknown;
  const note = (error: unknown): void => {
    escaped ??= error;
  };
  process.on('uncaughtException', note);
  process.on('unhandledRejection', note);
  try {
    for (let round = 0; until(tally); round++) {
      await fuzzOnce(seed + round, tally);
      if (escaped !== undefined)
        throw new Error(`seed ${seed + round}: something was thrown past the codec`, { cause: escaped });
    }
  } finally {
    process.off('uncaughtException', note);
    process.off('unhandledRejection', note);
  }
  return tally;
}

/** A host that does any of the things that hosts do. */
function startServer(random: Random, transport: Duplex): Promise<ChannelEnd> {
  const server = serveChannel(
    transport,
    (stream) => {
      void handle(new Random(random.below(2 ** 31)), stream).catch(() => {});
    },
    limits,
  );
  if (random.chance(0.2)) void server.ping().catch(() => {});
  return server.ended;
}

async function handle(random: Random, stream: ServerStream): Promise<void> {
  const act = random.below(6);
  if (act === 0) return;
  if (act === 1) return stream.reset('no');
  if (act === 2) for await (const chunk of stream.body) if (chunk.length > 50 && random.chance(0.2)) break;
  stream.respond({ status: 200, headers: { 'content-type': 'text/plain' } });
  if (act === 3) stream.write(Buffer.alloc(random.size(60_000))).catch(() => {});
  if (act === 4) await stream.write(Buffer.alloc(random.size(60_000)));
  stream.end();
}

function startClient(random: Random, transport: Duplex): Promise<ChannelEnd> {
  const client = connectClient(transport, limits);
  for (let n = random.below(6); n > 0; n--)
    void ask(new Random(random.below(2 ** 31)), client.open({ method: 'GET', url: 'http://a/', headers: {} })).catch(
      () => {},
    );
  return client.ended;
}

async function ask(random: Random, stream: ClientStream): Promise<void> {
  if (random.chance(0.5)) stream.write(Buffer.alloc(random.size(60_000))).catch(() => {});
  if (random.chance(0.8)) stream.end();
  if (random.chance(0.2)) stream.reset('enough');
  await stream.response;
  if (random.chance(0.8)) for await (const chunk of stream.body) if (chunk.length > 50 && random.chance(0.2)) break;
}

const heads = [
  '["GET","http://control.invalid/job"]',
  '["POST","https://a.example/x?y","x-a","1","x-b","\\u00fc"]',
  '["GET"]',
  '{}',
  '["GET","http://a/","__proto__","1"]',
  '[[[[',
  '["GET","http://a/","x","1","x","2"]',
];
const answers = ['[200]', '[404,"content-type","text/plain"]', '[99]', '[200,"a"]', '"x"'];
/** Mostly a stream that is still `open`, else any. */
const someStream = (random: Random, open: number[], used: number): number =>
  random.chance(0.99) && open.length > 0 ? random.pick(open) : 1 + 2 * random.below(used + 2);

const without = (streams: number[], id: number): void => {
  if (streams.includes(id)) streams.splice(streams.indexOf(id), 1);
};

function clientFrames(random: Random): Buffer[] {
  const frames = [wire.hello(random.chance(0.05) ? { streamWindowBytes: random.below(2 ** 32) } : {})];
  const open: number[] = [];
  let used = 0;
  for (let n = random.below(60); n > 0; n--) {
    const what = random.below(20);
    const id = someStream(random, open, used);
    if (what < 5 || open.length === 0) {
      open.push(1 + 2 * used);
      frames.push(
        wire.open(1 + 2 * used++, random.chance(0.98) ? (heads[random.below(2)] as string) : random.pick(heads)),
      );
    } else if (what < 13) {
      frames.push(wire.data(id, random.bytes(random.chance(0.995) ? 1 + random.size(2000) : random.pick([0, 2049]))));
    } else if (what < 16) {
      without(open, id);
      frames.push(wire.end(id));
    } else if (what < 18) {
      without(open, id);
      frames.push(wire.reset(id, 'x'.repeat(random.size(20))));
    } else if (random.chance(0.1)) {
      frames.push(
        random.chance(0.5)
          ? wire.frame(wire.type.pong, 0, wire.uint32(1))
          : wire.frame(random.below(12), random.below(20), random.bytes(random.below(8))),
      );
    } else if (random.chance(0.2)) {
      frames.push(wire.credit(random.chance(0.5) ? 0 : id, random.pick([4096, 65_536, 262_144, 1, 2 ** 31])));
    }
  }
  return frames;
}

function serverFrames(random: Random): Buffer[] {
  const frames = [wire.hello({ maxOpensPerSecond: 1 + random.below(50) })];
  const answered: number[] = [];
  const open = Array.from({ length: random.below(6) }, (_, n) => 1 + 2 * n);
  for (let n = random.below(60); n > 0; n--) {
    const what = random.below(12);
    const id = someStream(random, answered, 5);
    if (what < 4) {
      const next = open.shift() ?? id;
      answered.push(next);
      frames.push(wire.head(next, random.chance(0.98) ? (answers[random.below(2)] as string) : random.pick(answers)));
    } else if (what < 8) {
      frames.push(wire.data(id, random.bytes(1 + random.size(2000))));
    } else if (what < 10) {
      without(answered, id);
      frames.push(random.chance(0.7) ? wire.end(id) : wire.reset(id));
    } else if (random.chance(0.1)) {
      frames.push(wire.credit(random.chance(0.5) ? 0 : id, random.pick([65_536, 262_144, 7])));
    } else {
      frames.push(wire.frame(wire.type.ping, 0, wire.uint32(random.below(100))));
    }
  }
  return frames;
}

/** Most rounds are damaged in one place or a few; some are all noise; some are left as they are. */
function damage(random: Random, frames: Buffer[]): Buffer {
  const list = [...frames];
  for (let n = random.below(3); n > 0 && list.length > 1; n--) {
    const at = random.below(list.length);
    if (random.chance(0.4)) list.splice(at, 1);
    else if (random.chance(0.5)) list.splice(random.below(list.length), 0, list[at] as Buffer);
    else [list[at], list[0]] = [list[0] as Buffer, list[at] as Buffer];
  }
  let bytes = Buffer.concat(random.chance(0.5) ? frames : list);
  if (random.chance(0.03)) return random.bytes(random.size(5000));
  if (random.chance(0.4)) return bytes;
  for (let n = 1 + random.below(3); n > 0 && bytes.length > 0; n--) {
    const at = random.chance(0.5) ? random.below(bytes.length) : Math.min(bytes.length - 1, random.below(200));
    const what = random.below(4);
    if (what === 0) bytes[at] = random.below(256);
    else if (what === 1) bytes[at] = (bytes[at] as number) ^ (1 << random.below(8));
    else if (what === 2)
      bytes = Buffer.concat([bytes.subarray(0, at), random.bytes(random.size(30)), bytes.subarray(at)]);
    else bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + random.size(30))]);
  }
  return bytes;
}

async function drained(transport: Duplex, isOver: () => boolean): Promise<void> {
  for (let turns = 0; transport.writableLength > 0 && !isOver() && !transport.destroyed; turns++) {
    if (turns > 10_000) throw new Error('the bytes were never read');
    await turn();
  }
  for (let turns = 0; turns < 5 && !isOver(); turns++) await turn();
}

async function withinTurns(ended: Promise<ChannelEnd>, seed: number): Promise<ChannelEnd> {
  let end: ChannelEnd | undefined;
  void ended.then((value) => {
    end = value;
  });
  for (let turns = 0; turns < 1000; turns++) {
    if (end) return end;
    await turn();
  }
  throw new Error(`seed ${seed}: the connection never ended`);
}

if (import.meta.main) {
  const seed = Number(process.argv[2] ?? 1);
  const endMs = performance.now() + 1000 * Number(process.argv[3] ?? 10);
  console.log(JSON.stringify(await fuzz(seed, () => performance.now() < endMs), null, 1));
}
