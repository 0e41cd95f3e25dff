import type { Readable } from 'node:stream';
import { GloveboxError } from '@glovebox/contract';

const newline = 0x0a;

export interface Lines {
  /**
   * The next line, without its end. One is asked for at a time.
   *
   * @returns undefined where the stream is over before a line has begun.
   * @throws GloveboxError `CELLD_PROTOCOL` for a line of more than `maxBytes`, or one that breaks off.
   */
  next(maxBytes: number): Promise<Buffer | undefined>;
}

interface Waiter {
  maxBytes: number;
  resolve(line: Buffer | undefined): void;
  reject(thrown: unknown): void;
}

/**
 * Read a stream that carries nothing but lines. What has come is cut where it lies: many lines in one piece cost no more
 * than the piece.
 */
export const openLines = (stream: Readable): Lines => new LineCutter(stream);

/**
 * Take one line off a stream, without its end, and leave in the stream what follows: it may be no line at all. Nothing
 * else may read from the stream meanwhile.
 *
 * @returns undefined where the stream is over before a line has begun.
 * @throws GloveboxError `CELLD_PROTOCOL` for a line of more than `maxBytes`, or one that breaks off.
 */
export function readLine(stream: Readable, maxBytes: number): Promise<Buffer | undefined> {
  const lines = new LineCutter(stream, 'one');
  return lines.next(maxBytes);
}

class LineCutter implements Lines {
  readonly #stream: Readable;
  readonly #howMany: 'one' | 'all';
  #held: Buffer = Buffer.alloc(0);
  #waiter: Waiter | undefined;
  #isOver: boolean;

  constructor(stream: Readable, howMany: 'one' | 'all' = 'all') {
    this.#stream = stream;
    this.#howMany = howMany;
    this.#isOver = stream.destroyed || stream.readableEnded;
    stream.on('readable', this.#look).on('end', this.#over).on('close', this.#over).on('error', this.#over);
  }

  next(maxBytes: number): Promise<Buffer | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiter = { maxBytes, resolve, reject };
      this.#look();
    });
  }

  readonly #over = (): void => {
    this.#isOver = true;
    this.#look();
  };

  readonly #look = (): void => {
    while (this.#waiter !== undefined) {
      const { maxBytes } = this.#waiter;
      const end = this.#held.indexOf(newline);
      if (end > maxBytes || (end < 0 && this.#held.length > maxBytes)) {
        this.#settle(({ reject }) => reject(protocolError(`A line is over ${maxBytes} bytes`)));
        return;
      }
      if (end >= 0) {
        const line = this.#held.subarray(0, end);
        this.#held = this.#held.subarray(end + 1);
        this.#settle(({ resolve }) => resolve(line));
        return;
      }
      const chunk = this.#stream.read() as Buffer | null;
      if (chunk === null) break;
      this.#held = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    }
    if (this.#waiter === undefined || !this.#isOver) return;
    const brokeOff = this.#held.length > 0;
    this.#settle(({ resolve, reject }) => (brokeOff ? reject(protocolError('A line broke off')) : resolve(undefined)));
  };

  #settle(action: (waiter: Waiter) => void): void {
    const waiter = this.#waiter as Waiter;
    this.#waiter = undefined;
    if (this.#howMany === 'one') this.#giveBack();
    action(waiter);
  }

  /** In the turn in which the line was read: later, a stream that has come to its end takes nothing back. */
  #giveBack(): void {
    const stream = this.#stream.off('readable', this.#look);
    stream.off('end', this.#over).off('close', this.#over).off('error', this.#over);
    if (this.#held.length > 0 && !this.#isOver) stream.unshift(this.#held);
  }
}

/** @throws GloveboxError `CELLD_PROTOCOL` where the bytes are not UTF-8. */
export function decodeText(line: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line);
  } catch (cause) {
    throw protocolError('A line is not UTF-8', cause);
  }
}

export const protocolError = (message: string, cause?: unknown): GloveboxError =>
  new GloveboxError('CELLD_PROTOCOL', { message: `${message}.`, cause });
