import type { Fence } from './api.ts';
import { dialFailure } from './dial-failure.ts';

/** What is kept of an answer for a reader who is slower than the other side. */
const keptBytes = 64 * 1024;
/**
 * A larger chunk of a request's body goes in pieces: the fence is asked before each. Sockets have room for one: what they hold
 * has passed the fence and leaves as soon as the other side reads, whatever the fence says by then.
 */
export const pieceBytes = 16 * 1024;

/** Where the bytes of an answer come from. */
export interface BodyFlow {
  pause(): void;
  resume(): void;
  /** The reader wants no more. Not called once the body has ended. */
  cancel(): void;
}

type End = { readonly kind: 'done' } | { readonly kind: 'failed'; readonly error: unknown };

/**
 * The bytes of one answer between the connection, which pushes, and one reader, who pulls. At 64 KiB the connection is paused
 * until they are read, so the other side has to stop as well.
 */
export class AnswerBody implements AsyncIterable<Uint8Array> {
  readonly #flow: BodyFlow;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #isPaused = false;
  #isCancelled = false;
  #end: End | undefined;
  #wake: (() => void) | undefined;

  constructor(flow: BodyFlow) {
    this.#flow = flow;
  }

  push(chunk: Uint8Array): void {
    if (this.#end !== undefined || this.#isCancelled) return;
    this.#chunks.push(chunk);
    this.#bytes += chunk.byteLength;
    if (this.#bytes >= keptBytes && !this.#isPaused) {
      this.#isPaused = true;
      this.#flow.pause();
    }
    this.#wake?.();
  }

  end(): void {
    this.#end ??= { kind: 'done' };
    this.#wake?.();
  }

  /** What has not been read is dropped: a reader learns of a failure at once. */
  fail(error: unknown): void {
    if (this.#end !== undefined) return;
    this.#end = { kind: 'failed', error };
    this.#chunks = [];
    this.#wake?.();
  }

  /** End the request: the reader gets no more. */
  cancel(): void {
    if (this.#isCancelled || this.#end !== undefined) return;
    this.#isCancelled = true;
    this.#chunks = [];
    this.#flow.cancel();
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        const chunk = this.#chunks.shift();
        if (chunk !== undefined) {
          this.#take(chunk);
          yield chunk;
        } else if (this.#end?.kind === 'failed') throw this.#end.error;
        else if (this.#end !== undefined || this.#isCancelled) return;
        else await this.#pushed();
      }
    } finally {
      this.cancel();
    }
  }

  #take(chunk: Uint8Array): void {
    this.#bytes -= chunk.byteLength;
    if (!this.#isPaused || this.#bytes >= keptBytes / 2 || this.#end !== undefined) return;
    this.#isPaused = false;
    this.#flow.resume();
  }

  async #pushed(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wake = resolve;
    await promise;
    this.#wake = undefined;
  }
}

/**
 * A request's body on its way out: each piece passes the fence just before it is handed on, and so does its end, with which
 * the head of an empty one is sent. Whoever pulls does so when the connection has room again, so what has passed the fence and
 * is still in this process is one piece.
 *
 * It is held to the length that its head says, whatever the client of HTTP makes of it: what is beyond may be read as a
 * request of its own, which no rule allows, and what is short would be done before it is refused.
 *
 * @param isOver whether the answer has come to its end, after which nobody wants the rest.
 * @param declaredBytes undefined where the head says nothing.
 * @throws GloveboxError `EGRESS_DENIED` (`HEADER_REFUSED`) before the first byte too many, and at an end that comes too early.
 */
export async function* fencedBody(
  body: AsyncIterable<Uint8Array>,
  fence: Fence,
  isOver: () => boolean,
  declaredBytes: number | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (declaredBytes !== undefined && bytes > declaredBytes) throw notAsDeclared('longer');
    for (let start = 0; start < chunk.byteLength; start += pieceBytes) {
      if (isOver()) return;
      fence();
      yield chunk.subarray(start, start + pieceBytes);
    }
  }
  if (isOver()) return;
  if (declaredBytes !== undefined && bytes < declaredBytes) throw notAsDeclared('shorter');
  fence();
}

const notAsDeclared = (how: 'longer' | 'shorter'): Error =>
  dialFailure('HEADER_REFUSED', `The body of the request is ${how} than its content-length says.`);
