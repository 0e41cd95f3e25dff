import { type Duplex, duplexPair } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import {
  type BodyWriter,
  type ChannelLimits,
  type ClientStream,
  connectClient,
  type ServerStream,
  serveChannel,
} from '../src/index.ts';
import { endOf } from './kit.ts';
import { pieces, Random } from './random.ts';
import { Referee } from './referee.ts';

export interface WalkResult {
  referee: Referee;
  streams: number;
  bytes: number;
  resets: number;
}

/**
 * Both ends, honest, doing whatever the seed says: streams that overlap, bodies of any size both ways, readers that are
 * quick, slow or absent, resets from either side; over a link that cuts and delays as it likes. Throws when a byte is lost,
 * changed or out of order, when a frame breaks a rule, or when either end takes the other for broken.
 */
export async function walk(
  seed: number,
  limits: { client: Partial<ChannelLimits>; server: Partial<ChannelLimits> },
  streams: number,
): Promise<WalkResult> {
  const random = new Random(seed);
  const referee = new Referee();
  const [a, tapA] = duplexPair();
  const [b, tapB] = duplexPair();
  const links = [
    link(new Random(random.below(2 ** 31)), tapA, tapB, (bytes) => referee.see('client', bytes)),
    link(new Random(random.below(2 ** 31)), tapB, tapA, (bytes) => referee.see('server', bytes)),
  ];
  const result: WalkResult = { referee, streams: 0, bytes: 0, resets: 0 };
  const work: Promise<void>[] = [];
  const server = serveChannel(
    b,
    (stream) => void work.push(serve(new Random(seed ^ stream.id), stream, result)),
    limits.server,
  );
  const client = connectClient(a, limits.client);
  const most = Math.min(limits.client.maxStreams ?? 64, limits.server.maxStreams ?? 64);
  let running = 0;
  while (result.streams < streams) {
    if (running < most && random.chance(0.7)) {
      let stream: ClientStream;
      try {
        stream = client.open({ method: 'POST', url: `http://control.invalid/${result.streams}`, headers: {} });
      } catch (error) {
        // A stream that was reset counts until the other side has answered.
        if ((error as { code?: string }).code !== 'CHANNEL_STREAM_LIMIT') throw error;
        await turn();
        continue;
      }
      result.streams++;
      running++;
      const done = request(new Random(random.below(2 ** 31)), stream, result).finally(() => running--);
      work.push(done);
    } else {
      await turn();
    }
  }
  for (let done = 0; done < work.length; done++) await work[done];
  client.close();
  const ends = [await endOf(client), await endOf(server)];
  for (const end of ends)
    if (end.kind !== 'closed') throw new Error(`an honest end was taken for ${JSON.stringify(end)}`);
  await Promise.all(links);
  return result;
}

/** Byte `i` of the body of a stream: another at each place, and for each stream. */
const byteAt = (key: number, i: number): number => (Math.imul(i + 1, 2654435761) ^ key) >>> 24;

async function request(random: Random, stream: ClientStream, result: WalkResult): Promise<void> {
  const key = random.below(256);
  const reading = read(random, stream.body, result);
  const fate = random.below(10);
  await Promise.all([
    write(random, stream, key, random.size(random.chance(0.2) ? 400_000 : 3000)).catch(expectReset),
    fate === 0 ? after(random, () => stream.reset('the client gives up')) : undefined,
    stream.response.catch(expectReset),
    reading,
  ]);
  if (fate === 0) result.resets++;
}

async function serve(random: Random, stream: ServerStream, result: WalkResult): Promise<void> {
  const fate = random.below(10);
  if (fate === 0) {
    await after(random, () => stream.reset('the server gives up'));
    result.resets++;
    return;
  }
  const answer = async (): Promise<void> => {
    await pause(random);
    stream.respond({ status: 200, headers: {} });
    await write(random, stream, random.below(256), random.size(random.chance(0.2) ? 400_000 : 3000));
  };
  if (fate === 1) await answer().catch(expectReset);
  else await Promise.all([read(random, stream.body, result), answer().catch(expectReset)]);
}

/** The first byte of a body is its key; the reader needs no other knowledge to check the rest. */
async function write(random: Random, stream: BodyWriter, key: number, length: number): Promise<void> {
  for (let at = 0; at < length; ) {
    const size = Math.min(length - at, 1 + random.size(100_000));
    const chunk = Buffer.alloc(size);
    for (let i = 0; i < size; i++) chunk[i] = at + i === 0 ? key : byteAt(key, at + i);
    const writing = stream.write(chunk);
    if (random.chance(0.8)) await writing;
    if (random.chance(0.1)) await pause(random);
    at += size;
  }
  stream.end();
}

async function read(random: Random, body: AsyncIterable<Uint8Array>, result: WalkResult): Promise<void> {
  const slow = random.chance(0.3);
  let at = 0;
  let key = 0;
  try {
    for await (const chunk of body) {
      if (chunk.length === 0) throw new Error('an empty chunk');
      for (let i = 0; i < chunk.length; i++) {
        if (at + i === 0) key = chunk[i] as number;
        else if (chunk[i] !== byteAt(key, at + i)) throw new Error(`byte ${at + i} is ${chunk[i]}`);
      }
      at += chunk.length;
      result.bytes += chunk.length;
      if (slow) await pause(random);
    }
  } catch (error) {
    expectReset(error);
  }
}

function expectReset(error: unknown): void {
  if ((error as { code?: string }).code !== 'CHANNEL_RESET') throw error;
}

async function pause(random: Random): Promise<void> {
  for (let turns = random.below(6); turns > 0; turns--) await turn();
}

async function after(random: Random, action: () => void): Promise<void> {
  await pause(random);
  action();
}

async function link(random: Random, from: Duplex, to: Duplex, see: (bytes: Buffer) => void): Promise<void> {
  to.on('error', () => {});
  try {
    for await (const chunk of from as AsyncIterable<Buffer>) {
      for (const piece of pieces(random, chunk)) {
        see(piece);
        if (random.chance(0.05)) await turn();
        if (to.destroyed) return;
        to.write(piece);
        while (to.writableNeedDrain && !to.destroyed) await turn();
      }
    }
    to.end();
  } catch (error) {
    to.destroy();
    if ((error as { code?: string }).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}
