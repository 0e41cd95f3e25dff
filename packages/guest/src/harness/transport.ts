import type { Duplex } from 'node:stream';
import { Bytes, runSoon, viewOf } from './primordials.ts';

/** Taken before author code is there. `node:fs` is part of Node's own snapshot: it costs nothing to load. */
const { readSync, writeSync } = process.getBuiltinModule('node:fs');
const loadBuiltin = process.getBuiltinModule.bind(process);
const waitOn = Atomics.wait as (cell: Int32Array, index: number, value: number, ms: number) => string;
const neverNotified = new Int32Array(new SharedArrayBuffer(4));

const chunkBytes = 64 * 1024;
/** Between two tries of a descriptor that does not block. */
const retryMs = 1;

type Event = 'data' | 'end' | 'error' | 'close';

/** What a channel is read from and written to: a socket, or two pipes. */
export interface ChannelFds {
  readFd: number;
  writeFd: number;
}

/**
 * The cell's end of the channel's descriptors, as the channel wants a transport to be.
 *
 * It begins with plain, blocking system calls: nothing has to be loaded for them, which saves a cold cell a tenth of its
 * start; nothing of author code can get between; and what the node logged is out before it loops for ever. While nobody
 * reads, the kernel and the credit of the host hold what arrives.
 *
 * Once the node waits for the host (`hold`), or has run for a while (`adopt`, for the sake of `cancel`), the event loop
 * reads. Writes stay as they are: the channel writes only what the host has given credit for.
 */
export class CellTransport {
  readonly #readFd: number;
  readonly #writeFd: number;
  readonly #listeners: { [name in Event]?: (value?: unknown) => void } = { __proto__: null } as object;
  #reader: { ref(): unknown; unref(): unknown } | 'none' | 'impossible' = 'none';
  #holds = 0;
  #pumping = false;
  /** What Duplex has, and the channel looks at. A write is done when `write` returns. */
  readonly writableLength = 0;
  readonly readableEnded = false;
  destroyed = false;

  constructor({ readFd, writeFd }: ChannelFds) {
    this.#readFd = readFd;
    this.#writeFd = writeFd;
  }

  asDuplex(): Duplex {
    return this as unknown as Duplex;
  }

  on(event: Event, listener: (value?: unknown) => void): this {
    this.#listeners[event] = listener;
    return this;
  }

  write(bytes: Uint8Array): boolean {
    for (let from = 0; from < bytes.length && !this.destroyed; ) {
      try {
        from += writeSync(this.#writeFd, bytes, from, bytes.length - from);
      } catch (error) {
        this.#retryOrFail(error);
      }
    }
    return true;
  }

  /** Wait for bytes and take them in: blocks the process, so only where nothing else is to run. */
  readNow(): void {
    while (!this.destroyed) {
      try {
        this.#readOnce();
        return;
      } catch (error) {
        this.#retryOrFail(error);
      }
    }
  }

  /** Take in what has arrived, without waiting for more. For code that may never yield to the event loop. */
  readArrived(): void {
    // Only a descriptor that the event loop reads is known not to block.
    if (this.destroyed || this.adopt() === 'impossible') return;
    try {
      this.#readOnce();
    } catch {
      // Nothing is there; or it has failed, which the event loop sees as well.
    }
  }

  /** Something waits for the host: read what it sends until `release`, and keep the process alive. */
  hold(): void {
    this.#holds++;
    const reader = this.adopt();
    if (reader === 'impossible') this.#pump();
    else if (this.#holds === 1) reader.ref();
  }

  release(): void {
    if (--this.#holds === 0 && typeof this.#reader === 'object') this.#reader.unref();
  }

  /**
   * Let the event loop read, without keeping the process alive.
   *
   * A socket would need the permission for network, which a cell does not have. `node:tty` asks for none, and takes any
   * descriptor that is a stream. Where author code has broken the streams of Node.js, reading goes on by blocking calls.
   */
  adopt(): { ref(): unknown; unref(): unknown } | 'impossible' {
    if (this.#reader !== 'none') return this.#reader;
    // Until it stands: what throws below must not be tried twice.
    this.#reader = 'impossible';
    try {
      const { ReadStream } = loadBuiltin('node:tty');
      const options = {
        onread: {
          buffer: () => new Bytes(chunkBytes),
          callback: (length: number, chunk: Uint8Array) => {
            this.#listeners.data?.(viewOf(chunk, 0, length));
            return true;
          },
        },
      };
      const reader = new (ReadStream as unknown as new (fd: number, more: object) => NodeJS.ReadStream)(
        this.#readFd,
        options,
      );
      reader.on('end', () => this.#listeners.end?.());
      reader.on('error', (error: unknown) => this.#listeners.error?.(error));
      reader.resume();
      reader.unref();
      this.#reader = reader;
    } catch {
      // The descriptor may no longer block by now; readNow copes.
    }
    return this.#reader;
  }

  /** The channel is done with it, and so is the process. */
  destroy(): void {
    this.destroyed = true;
    this.#listeners.close?.();
  }

  end(): void {
    this.destroy();
  }

  pause(): this {
    return this;
  }

  resume(): this {
    return this;
  }

  #readOnce(): void {
    const chunk = new Bytes(chunkBytes);
    const length = readSync(this.#readFd, chunk, 0, chunkBytes, null);
    if (length > 0) this.#listeners.data?.(viewOf(chunk, 0, length));
    else {
      this.#listeners.end?.();
      this.destroyed = true;
    }
  }

  #pump(): void {
    if (this.#pumping) return;
    this.#pumping = true;
    runSoon(() => {
      this.#pumping = false;
      if (this.#holds === 0 || this.destroyed) return;
      this.readNow();
      this.#pump();
    });
  }

  #retryOrFail(error: unknown): void {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EAGAIN') {
      waitOn(neverNotified, 0, 0, retryMs);
      return;
    }
    this.destroyed = true;
    this.#listeners.error?.(error);
  }
}
