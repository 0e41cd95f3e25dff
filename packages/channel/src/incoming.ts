import { ChannelError } from './errors.ts';
import {
  asyncIterator,
  Bytes,
  bufferByteLengthOf,
  bufferOf,
  byteLengthOf,
  copyOf,
  max,
  min,
  setBytes,
  viewOf,
} from './primordials.ts';
import { type Deferred, defer, rejected } from './promises.ts';

const tailBytes = 4 * 1024;

interface Chunk {
  bytes: Uint8Array;
  /** How much of `bytes` is filled; the rest is room for small parts to come. */
  length: number;
  next: Chunk | undefined;
}

type State = { kind: 'open' } | { kind: 'ended' } | { kind: 'dropped' } | { kind: 'failed'; error: ChannelError };

const open: State = { kind: 'open' };
const ended: State = { kind: 'ended' };
const dropped: State = { kind: 'dropped' };

/**
 * The receiving half of a stream: what arrived and was not read yet, and its one reader.
 *
 * What is held is never much more than what the sender paid credit for: a part that is small beside the buffer it arrived
 * in is copied, or one byte could keep 64 KiB alive; and small parts share one chunk, or each byte would cost an object.
 */
export class IncomingBody implements AsyncIterable<Uint8Array>, AsyncIterator<Uint8Array> {
  readonly #onConsumed: (bytes: number) => void;
  readonly #onAbandoned: () => void;
  #state: State = open;
  #first: Chunk | undefined;
  #last: Chunk | undefined;
  #held = 0;
  #begun = false;
  #waiting: Deferred<IteratorResult<Uint8Array>> | undefined;

  /**
   * @param onConsumed the reader took so many bytes, or nobody will: they may be paid back.
   * @param onAbandoned the reader left before the end.
   */
  constructor(onConsumed: (bytes: number) => void, onAbandoned: () => void) {
    this.#onConsumed = onConsumed;
    this.#onAbandoned = onAbandoned;
  }

  /** Whether somebody has ever asked for a chunk. */
  get begun(): boolean {
    return this.#begun;
  }

  [asyncIterator](): AsyncIterator<Uint8Array> {
    return this;
  }

  /** @returns false when nobody will read it: then it was dropped. */
  push(bytes: Uint8Array, start: number, end: number): boolean {
    const length = end - start;
    if (this.#state !== open) {
      this.#onConsumed(length);
      return false;
    }
    const small = length * 4 < bufferByteLengthOf(bufferOf(bytes));
    const waiting = this.#waiting;
    if (waiting) {
      this.#waiting = undefined;
      waiting.resolve(result(small ? copyOf(bytes, start, end) : viewOf(bytes, start, end)));
      this.#onConsumed(length);
      return true;
    }
    this.#held += length;
    if (small) this.#append(bytes, start, end);
    else this.#add({ bytes: viewOf(bytes, start, end), length, next: undefined });
    return true;
  }

  finish(): void {
    if (this.#state !== open) return;
    this.#state = ended;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(done());
  }

  /** Whoever reads gets `error` from now on; what was not read is gone. */
  fail(error: ChannelError): void {
    if (this.#state.kind === 'failed') return;
    this.#state = { kind: 'failed', error };
    this.#release();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.reject(error);
  }

  /** As `fail`, but a body that has arrived completely stays readable. */
  failUnlessComplete(error: ChannelError): void {
    if (this.#state !== ended) this.fail(error);
  }

  /** Nobody will read: what is there and what comes is paid back at once. */
  drop(): void {
    if (this.#state === open) this.#state = dropped;
    this.#release();
  }

  next(): Promise<IteratorResult<Uint8Array>> {
    this.#begun = true;
    if (this.#state.kind === 'failed') return rejected(this.#state.error);
    const chunk = this.#first;
    if (chunk) {
      this.#first = chunk.next;
      if (chunk === this.#last) this.#last = undefined;
      this.#held -= chunk.length;
      const settled = defer<IteratorResult<Uint8Array>>();
      settled.resolve(
        result(chunk.length === byteLengthOf(chunk.bytes) ? chunk.bytes : viewOf(chunk.bytes, 0, chunk.length)),
      );
      this.#onConsumed(chunk.length);
      return settled.promise;
    }
    if (this.#state !== open) {
      const settled = defer<IteratorResult<Uint8Array>>();
      settled.resolve(done());
      return settled.promise;
    }
    if (this.#waiting)
      return rejected(new ChannelError('CHANNEL_MISUSE', 'a body has one reader, which asks for one chunk at a time'));
    this.#waiting = defer();
    return this.#waiting.promise;
  }

  return(): Promise<IteratorResult<Uint8Array>> {
    this.#begun = true;
    const wasOpen = this.#state === open;
    this.drop();
    const waiting = this.#waiting;
    this.#waiting = undefined;
    waiting?.resolve(done());
    const settled = defer<IteratorResult<Uint8Array>>();
    settled.resolve(done());
    if (wasOpen) this.#onAbandoned();
    return settled.promise;
  }

  #append(bytes: Uint8Array, start: number, end: number): void {
    const last = this.#last;
    const room = last ? byteLengthOf(last.bytes) - last.length : 0;
    const fits = min(end - start, room);
    if (last && fits > 0) {
      setBytes(last.bytes, viewOf(bytes, start, start + fits), last.length);
      last.length += fits;
    }
    const rest = end - start - fits;
    if (rest === 0) return;
    const chunk = new Bytes(max(rest, tailBytes));
    setBytes(chunk, viewOf(bytes, start + fits, end), 0);
    this.#add({ bytes: chunk, length: rest, next: undefined });
  }

  #add(chunk: Chunk): void {
    if (this.#last) this.#last.next = chunk;
    else this.#first = chunk;
    this.#last = chunk;
  }

  #release(): void {
    const held = this.#held;
    this.#held = 0;
    this.#first = undefined;
    this.#last = undefined;
    if (held > 0) this.#onConsumed(held);
  }
}

// Without a prototype: a promise is resolved with these, and must not find a `then` on Object.prototype.
function result(value: Uint8Array): IteratorResult<Uint8Array> {
  return { __proto__: null, value, done: false } as unknown as IteratorResult<Uint8Array>;
}
function done(): IteratorResult<Uint8Array> {
  return { __proto__: null, value: undefined, done: true } as unknown as IteratorResult<Uint8Array>;
}
