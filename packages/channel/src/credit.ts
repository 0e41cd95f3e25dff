import type { ChannelLimits } from './api.ts';
import { type AnnouncedLimits, abuse, type Violation } from './frame.ts';
import { creditQuantum } from './limits.ts';
import { floor } from './primordials.ts';
import type { Stream } from './stream.ts';

/**
 * What the other side may send: its windows on this side. A byte is owed from the moment it arrives until credit for it
 * is sent, and credit is due once it was read (or dropped) and a quarter of the window has come together.
 */
export class ReceiveCredit {
  readonly #streamWindow: number;
  readonly #connectionWindow: number;
  readonly #streamQuantum: number;
  readonly #connectionQuantum: number;
  #owedBytes = 0;
  #consumedBytes = 0;

  constructor(limits: ChannelLimits) {
    this.#streamWindow = limits.streamWindowBytes;
    this.#connectionWindow = limits.connectionWindowBytes;
    this.#streamQuantum = creditQuantum(limits.streamWindowBytes);
    this.#connectionQuantum = creditQuantum(limits.connectionWindowBytes);
  }

  /** A DATA frame of `length` bytes begins. Judged before it arrives, so that no more than a window is ever stored. */
  admit(stream: Stream, length: number): Violation | undefined {
    if (stream.owedBytes + length > this.#streamWindow) {
      return abuse('stream-credit', `stream ${stream.id} has no credit for ${length} bytes`);
    }
    if (this.#owedBytes + length > this.#connectionWindow) {
      return abuse('connection-credit', `the connection has no credit for ${length} bytes`);
    }
    stream.owedBytes += length;
    this.#owedBytes += length;
    return undefined;
  }

  consumed(stream: Stream, bytes: number): void {
    stream.consumedBytes += bytes;
    this.#consumedBytes += bytes;
  }

  /** Never after the other side's END: it has no use for credit then, and may have forgotten the stream. */
  isStreamDue(stream: Stream): boolean {
    return stream.receiving === 'body' && stream.resetOut === 'none' && stream.consumedBytes >= this.#streamQuantum;
  }

  get isConnectionDue(): boolean {
    return this.#consumedBytes >= this.#connectionQuantum;
  }

  /** @returns the credit to send now. */
  payStream(stream: Stream): number {
    const bytes = stream.consumedBytes;
    stream.owedBytes -= bytes;
    stream.consumedBytes = 0;
    return bytes;
  }

  payConnection(): number {
    const bytes = this.#consumedBytes;
    this.#owedBytes -= bytes;
    this.#consumedBytes = 0;
    return bytes;
  }
}

/** What this side may send: the other's windows, less what was sent and not credited. */
export class SendCredit {
  readonly #streamWindow: number;
  readonly #connectionWindow: number;
  #uncreditedBytes = 0;

  constructor(peer: AnnouncedLimits) {
    this.#streamWindow = peer.streamWindowBytes;
    this.#connectionWindow = peer.connectionWindowBytes;
  }

  streamBytes(stream: Stream): number {
    return this.#streamWindow - stream.uncreditedBytes;
  }

  get connectionBytes(): number {
    return this.#connectionWindow - this.#uncreditedBytes;
  }

  spend(stream: Stream, bytes: number): void {
    stream.uncreditedBytes += bytes;
    this.#uncreditedBytes += bytes;
  }

  creditStream(stream: Stream, bytes: number): Violation | undefined {
    if (bytes < creditQuantum(this.#streamWindow)) {
      return abuse('credit-crumbs', `CREDIT of ${bytes} bytes on stream ${stream.id}`);
    }
    if (bytes > stream.uncreditedBytes) {
      return abuse('credit-overflow', `CREDIT for more than was sent on stream ${stream.id}`);
    }
    stream.uncreditedBytes -= bytes;
    return undefined;
  }

  creditConnection(bytes: number): Violation | undefined {
    if (bytes < creditQuantum(this.#connectionWindow)) {
      return abuse('credit-crumbs', `CREDIT of ${bytes} bytes on the connection`);
    }
    if (bytes > this.#uncreditedBytes)
      return abuse('credit-overflow', 'CREDIT for more than was sent on the connection');
    this.#uncreditedBytes -= bytes;
    return undefined;
  }

  /** How many CREDIT frames for this stream the other side may still send. */
  possibleCredits(stream: Stream): number {
    return floor(stream.uncreditedBytes / creditQuantum(this.#streamWindow));
  }
}
