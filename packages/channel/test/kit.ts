import { type Duplex, duplexPair } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import {
  type ChannelClient,
  type ChannelEnd,
  type ChannelLimits,
  type ChannelServer,
  connectClient,
  type ServerStream,
  serveChannel,
} from '../src/index.ts';
import { type Frame, parse } from './wire.ts';

export interface Pair {
  client: ChannelClient;
  server: ChannelServer;
  /** As they arrive; `take` waits for the next. */
  take(): Promise<ServerStream>;
}

/** Both ends over one pair of byte streams in this process. */
export function pair(
  limits: { client?: Partial<ChannelLimits>; server?: Partial<ChannelLimits> } = {},
  onStream?: (stream: ServerStream) => void,
): Pair {
  const [a, b] = duplexPair();
  const arrivals = new Arrivals<ServerStream>();
  const server = serveChannel(b, onStream ?? ((stream) => arrivals.add(stream)), limits.server);
  const client = connectClient(a, limits.client);
  return { client, server, take: () => arrivals.next() };
}

/** A server, and the raw bytes of the other side. */
export interface Hostile {
  server: ChannelServer;
  streams: ServerStream[];
  take(): Promise<ServerStream>;
  raw: RawPeer;
}

export function hostile(limits: Partial<ChannelLimits> = {}, onStream?: (stream: ServerStream) => void): Hostile {
  const [a, b] = duplexPair();
  const streams: ServerStream[] = [];
  const arrivals = new Arrivals<ServerStream>();
  const server = serveChannel(
    b,
    (stream) => {
      streams.push(stream);
      arrivals.add(stream);
      onStream?.(stream);
    },
    limits,
  );
  return { server, streams, take: () => arrivals.next(), raw: new RawPeer(a) };
}

/** Says any bytes, and keeps the frames that come back. */
export class RawPeer {
  readonly transport: Duplex;
  readonly frames: Frame[] = [];
  #rest: Buffer = Buffer.alloc(0);
  #waiting: (() => void)[] = [];

  constructor(transport: Duplex) {
    this.transport = transport;
    transport.on('data', (chunk: Buffer) => {
      const { frames, rest } = parse(Buffer.concat([this.#rest, chunk]));
      this.#rest = rest;
      this.frames.push(...frames);
      for (const wake of this.#waiting.splice(0)) wake();
    });
    transport.on('error', () => {});
    for (const event of ['end', 'close']) {
      transport.on(event, () => {
        for (const wake of this.#waiting.splice(0)) wake();
      });
    }
  }

  say(...frames: Uint8Array[]): void {
    this.transport.write(Buffer.concat(frames));
  }

  /** The first frame that came so far, or comes, and fits. */
  async frame(kind: number, id?: number): Promise<Frame> {
    for (;;) {
      const found = this.frames.find((each) => each.type === kind && (id === undefined || each.id === id));
      if (found) return found;
      if (this.transport.destroyed || this.transport.readableEnded)
        throw new Error(`the transport was closed before a frame of type ${kind}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  count(kind: number, id?: number): number {
    return this.frames.filter((each) => each.type === kind && (id === undefined || each.id === id)).length;
  }
}

/** Until what is on its way has arrived: a few turns of the event loop, for what happens within this process only. */
export async function settle(turns = 20): Promise<void> {
  for (let i = 0; i < turns; i++) await turn();
}

export async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let pending = true;
  promise.then(
    () => {
      pending = false;
    },
    () => {
      pending = false;
    },
  );
  await settle();
  return pending;
}

export async function read(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** The end as a plain object. */
export async function endOf(side: { ended: Promise<ChannelEnd> }): Promise<ChannelEnd> {
  return { ...(await side.ended) };
}

export function ruleOf(end: ChannelEnd): string {
  return end.kind === 'abuse' ? `abuse ${end.rule}` : end.kind;
}

class Arrivals<T> {
  #items: T[] = [];
  #waiting: ((item: T) => void)[] = [];

  add(item: T): void {
    const waiting = this.#waiting.shift();
    if (waiting) waiting(item);
    else this.#items.push(item);
  }

  next(): Promise<T> {
    const item = this.#items.shift();
    return item === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(item);
  }
}
