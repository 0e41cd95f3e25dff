import type { ChannelServer, RequestHead, ResponseHead, ServeChannel, ServerStream } from './api.ts';
import { Connection } from './connection.ts';
import { ChannelError } from './errors.ts';
import { encodeResponseHead } from './head.ts';
import { resolveLimits } from './limits.ts';
import { Stream } from './stream.ts';

/**
 * The host's end. Takes the transport over. Whatever bytes arrive, it ends typed and in bounded memory: the windows, a
 * head for each stream, and one batch of frames.
 *
 * `onStream` is called as streams arrive, in their order. It may be async. If it throws or rejects while its stream is in use,
 * that is a defect, and ends the connection as `lost`; a rejection after the stream was reset, or has ended both ways, is expected.
 */
export const serveChannel: ServeChannel = (transport, onStream, limits) => {
  const connection = new Connection('server', transport, resolveLimits(limits), {
    taker: {
      make: (owner, id, head) => new HostStream(owner, id, head),
      announce: (stream) => {
        const handled: unknown = onStream(stream as HostStream);
        if (!(handled instanceof Promise)) return;
        handled.catch((error: unknown) => {
          // That a write or a read fails on a stream that is gone is the peer's doing; it must not bring the host down.
          // Nor may what a handler does after its stream is over: nobody waits for it there.
          if (!stream.failure && stream.listed) stream.connection.handlerFailed(error);
        });
      },
    },
  });
  const server: ChannelServer = {
    ping: () => connection.ping(),
    ended: connection.ended,
    close: () => connection.close(),
    get stats() {
      return connection.stats;
    },
  };
  return server;
};

class HostStream extends Stream implements ServerStream {
  readonly head: RequestHead;
  #abort: AbortController | undefined;

  constructor(connection: Connection, id: number, head: RequestHead) {
    super(
      connection,
      id,
      (error) => this.#abort?.abort(error),
      () => {},
    );
    this.head = head;
  }

  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new AbortController();
      if (this.failure) this.#abort.abort(this.failure);
    }
    return this.#abort.signal;
  }

  respond(head: ResponseHead): void {
    if (this.sending !== 'idle') throw new ChannelError('CHANNEL_MISUSE', 'the stream was answered already');
    if (this.failure) return;
    const text = encodeResponseHead(head);
    if (text.length > this.connection.maxHeadBytes) {
      throw new ChannelError(
        'CHANNEL_HEAD_INVALID',
        `the head has ${text.length} bytes, over ${this.connection.maxHeadBytes}`,
      );
    }
    this.begin(text);
  }
}
