import { readSync, writeSync } from 'node:fs';
import { data, end, type Frame, hello, open, parse, type } from '../../../packages/channel/test/wire.ts';

const channelFd = 3;

/**
 * The hostile side of a channel, byte by byte, on a blocking descriptor: nothing of the product's own client is in it, and
 * no event loop comes between two writes.
 */
export class Peer {
  #rest: Buffer = Buffer.alloc(0);
  readonly #received: Frame[] = [];
  readonly #credit = new Map<number, number>();
  #nextId = 1;

  say(...frames: readonly Uint8Array[]): void {
    const bytes = frames.length === 1 ? (frames[0] as Uint8Array) : Buffer.concat(frames);
    for (let at = 0; at < bytes.length; ) at += writeSync(channelFd, bytes, at);
  }

  /** Wait for a frame of this kind on this stream, reading whatever comes. */
  await(kind: number, id: number): Frame {
    for (;;) {
      const at = this.#received.findIndex((frame) => frame.type === kind && frame.id === id);
      if (at !== -1) return this.#received.splice(at, 1)[0] as Frame;
      this.read();
    }
  }

  /** Read once. Blocks until something comes; ends the process with the channel. */
  read(): void {
    const chunk = Buffer.alloc(65_536);
    const size = readSync(channelFd, chunk, 0, chunk.length, null);
    if (size === 0) process.exit(0);
    const { frames, rest } = parse(Buffer.concat([this.#rest, chunk.subarray(0, size)]));
    this.#rest = Buffer.from(rest);
    this.#received.push(...frames);
  }

  /** Open a stream. @returns its id. */
  open(method: string, path: string, headers: Record<string, string> = {}): number {
    const id = this.#nextId;
    this.#nextId += 2;
    this.say(openFrame(id, method, path, headers));
    return id;
  }

  /** A stream id that no `open` of this peer uses afterwards. */
  takeId(): number {
    const id = this.#nextId;
    this.#nextId += 2;
    return id;
  }

  /** A whole request, in one write. */
  request(method: string, path: string, body: Uint8Array | string = '', headers: Record<string, string> = {}): number {
    const id = this.open(method, path, headers);
    this.body(id, body);
    return id;
  }

  /** A body that fits the window of a stream, and END. */
  body(id: number, body: Uint8Array | string): void {
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    const frames: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += 65_536) frames.push(data(id, bytes.subarray(at, at + 65_536)));
    this.say(...frames, end(id));
  }

  /** A body of any length, within the credit that the host gives, in frames of `frameBytes`. Without END. */
  stream(id: number, bytes: Uint8Array, frameBytes = 65_536): void {
    let credit = this.#credit.get(id) ?? 262_144;
    for (let at = 0; at < bytes.length; ) {
      while (credit < frameBytes) {
        const frame = this.await(type.credit, id);
        credit += frame.payload.readUInt32BE(0);
      }
      const part = bytes.subarray(at, at + frameBytes);
      this.say(data(id, part));
      credit -= part.length;
      at += part.length;
    }
    this.#credit.set(id, credit);
  }

  /** Up to where author code would begin: HELLO, the job, the bundle unread, `loaded`. */
  begin(): void {
    this.say(hello({ streamWindowBytes: 64 << 20, connectionWindowBytes: 256 << 20 }));
    const job = this.request('GET', '/job');
    this.await(type.end, job);
    this.request('POST', '/loaded');
  }

  output(text: string | Uint8Array): void {
    const id = this.open('POST', '/result', { 'glovebox-result': 'output' });
    this.stream(id, typeof text === 'string' ? Buffer.from(text) : text);
    this.say(end(id));
  }

  error(text: string): void {
    this.request('POST', '/result', text, { 'glovebox-result': 'error' });
  }
}

export function openFrame(id: number, method: string, path: string, headers: Record<string, string> = {}): Buffer {
  const url = path.includes('://') ? path : `http://control.invalid${path}`;
  return open(id, JSON.stringify([method, url, ...Object.entries(headers).flat()]));
}

/** As long as the process is let live. */
export function wait(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
