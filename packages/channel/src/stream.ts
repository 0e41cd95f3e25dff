import type { ResponseHead } from './api.ts';
import type { Connection } from './connection.ts';
import { ChannelError } from './errors.ts';
import { IncomingBody } from './incoming.ts';
import { byteLengthOf } from './primordials.ts';
import { type Deferred, defer, rejected, resolved } from './promises.ts';
import type { StreamQueue } from './stream-table.ts';

/** A `write` that is not, or not completely, handed over. */
interface PendingWrite {
  readonly bytes: Uint8Array;
  readonly length: number;
  sent: number;
  readonly settled: Deferred<void>;
  next: PendingWrite | undefined;
}

/**
 * One stream as either end keeps it. The connection reads and changes the fields; whoever uses a stream calls the methods.
 * docs/channel.md has the states.
 */
export class Stream {
  readonly connection: Connection;
  /** 0 on a client until OPEN is sent, so that ids follow the order on the wire. */
  id: number;
  /** Links of the table of streams, then of the one queue that the stream may be in. */
  listed = false;
  next: Stream | undefined;
  previous: Stream | undefined;
  queue: StreamQueue | undefined;
  queueNext: Stream | undefined;
  queuePrevious: Stream | undefined;

  /** OPEN's or HEAD's payload, until it is sent. */
  headToSend: string | undefined;
  /** `idle`: a server that has not responded. `ending`: END is to follow what is pending. */
  sending: 'idle' | 'open' | 'ending' | 'ended' = 'idle';
  firstWrite: PendingWrite | undefined;
  lastWrite: PendingWrite | undefined;
  pendingBytes = 0;
  /** Payload sent that the other side has given no credit for. */
  uncreditedBytes = 0;

  receiving: 'head' | 'body' | 'ended' = 'body';
  readonly body: IncomingBody;
  /** Payload received that no credit was given for: what the other side has used of its window. */
  owedBytes = 0;
  /** The part of it that was read, or dropped. */
  consumedBytes = 0;

  resetOut: 'none' | 'queued' | 'sent' = 'none';
  resetReason = '';
  resetIn = false;
  /** Client: whether the server has sent any frame on this stream. */
  seen = false;
  /** Why the stream is of no use any more. */
  failure: ChannelError | undefined;
  readonly onHead: ((head: ResponseHead) => void) | undefined;
  readonly onFailure: (error: ChannelError) => void;

  constructor(
    connection: Connection,
    id: number,
    onFailure: (error: ChannelError) => void,
    onAbandoned: () => void,
    onHead?: (head: ResponseHead) => void,
  ) {
    this.connection = connection;
    this.id = id;
    this.onFailure = onFailure;
    this.onHead = onHead;
    if (onHead) this.receiving = 'head';
    this.body = new IncomingBody((bytes) => connection.consumed(this, bytes), onAbandoned);
  }

  /** Send OPEN or HEAD. */
  begin(head: string): void {
    this.headToSend = head;
    this.sending = 'open';
    this.connection.schedule(this);
  }

  write(chunk: Uint8Array): Promise<void> {
    if (this.failure) return rejected(this.failure);
    this.#mustBeOpen();
    const length = byteLengthOf(chunk);
    if (length === 0) return resolved;
    const pending: PendingWrite = { bytes: chunk, length, sent: 0, settled: defer(), next: undefined };
    if (this.lastWrite) this.lastWrite.next = pending;
    else this.firstWrite = pending;
    this.lastWrite = pending;
    this.pendingBytes += length;
    this.connection.schedule(this);
    return pending.settled.promise;
  }

  end(): void {
    if (this.failure) return;
    this.#mustBeOpen();
    this.sending = 'ending';
    this.connection.schedule(this);
  }

  reset(reason: string, error = new ChannelError('CHANNEL_RESET', 'the stream was reset by this side')): void {
    this.connection.reset(this, reason, error);
  }

  /** Whether the next `bytes` to send are still there: a buffer can be detached or shrunk by who handed it over. */
  pendingIsIntact(bytes: number): boolean {
    let write = this.firstWrite;
    let found = 0;
    while (write && found < bytes) {
      if (byteLengthOf(write.bytes) !== write.length) return false;
      found += write.length - write.sent;
      write = write.next;
    }
    return true;
  }

  /** Both halves are of no use from now on; whoever waits gets `error`. `keepComplete`: but for a body that is all there. */
  fail(error: ChannelError, keepComplete: 'keep-complete' | 'all'): void {
    if (this.failure) return;
    this.failure = error;
    if (keepComplete === 'keep-complete') this.body.failUnlessComplete(error);
    else this.body.fail(error);
    let write = this.firstWrite;
    this.firstWrite = undefined;
    this.lastWrite = undefined;
    this.pendingBytes = 0;
    while (write) {
      write.settled.reject(error);
      write = write.next;
    }
    this.onFailure(error);
  }

  #mustBeOpen(): void {
    if (this.sending === 'idle') throw new ChannelError('CHANNEL_MISUSE', 'respond comes before the body');
    if (this.sending !== 'open') throw new ChannelError('CHANNEL_MISUSE', 'the body was ended already');
  }
}
