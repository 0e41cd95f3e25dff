import type { Duplex } from 'node:stream';
import { type FrameType, headerBytes, writeHeader, writeUint32 } from './frame.ts';
import { Bytes, charCodeAt, setBytes, viewOf } from './primordials.ts';

/** Two DATA frames of the greatest size, and some control frames. */
const slabBytes = 2 * (64 * 1024 + headerBytes) + 4096;

/**
 * Gathers frames into one buffer and hands it over in one write; the next buffer fills while that write is under way.
 *
 * So the transport's own queue stays empty: what waits, waits as state of its stream. And a write never meets another that
 * is under way, in which case the streams of Node.js would queue it by methods that author code may have replaced.
 */
export class Outbox {
  readonly #transport: Duplex;
  readonly #onWritten: () => void;
  readonly #seal: (view: Uint8Array) => void;
  /**
   * Whether the bytes of a write that is done may be overwritten. The kernel has copied them; a transport within this
   * process may have passed them on as they are.
   */
  readonly #isReusable: boolean;
  #slab: Uint8Array | undefined;
  /** `[#from, #to)` of the slab is filled and not handed over. */
  #from = 0;
  #to = 0;
  /** The slab of the write that is under way. */
  #inFlight: Uint8Array | undefined;
  #spare: Uint8Array | undefined;
  #writes = 0;
  #total = 0;

  /**
   * @param onWritten a write is done that was not done at once: flush, and `fits` may be true again.
   * @param seal what to do to a view before it is handed over.
   */
  constructor(transport: Duplex, onWritten: () => void, seal: (view: Uint8Array) => void) {
    this.#transport = transport;
    this.#onWritten = onWritten;
    this.#seal = seal;
    this.#isReusable = typeof (transport as { _handle?: unknown })._handle === 'object';
  }

  /** All bytes of all frames handed over so far. */
  get totalBytes(): number {
    return this.#total;
  }

  /** How much may be added after a `fits` that was true. */
  get room(): number {
    return slabBytes - this.#to;
  }

  /** Whether `length` bytes may be added now. If not: flush, and try again when that is done. */
  fits(length: number): boolean {
    if (this.#slab && this.room >= length) return true;
    if (this.#from !== this.#to) return false;
    this.#slab = this.#spare ?? new Bytes(slabBytes);
    this.#spare = undefined;
    this.#from = 0;
    this.#to = 0;
    return length <= slabBytes;
  }

  /** A header; its payload must follow by `bytes`, `text` or `uint32`. All of it must have been found to fit. */
  header(type: FrameType, streamId: number, length: number): void {
    writeHeader(this.#slab as Uint8Array, this.#to, type, streamId, length);
    this.#to += headerBytes;
  }

  /** A copy of `source[start, end)`. */
  bytes(source: Uint8Array, start: number, end: number): void {
    setBytes(this.#slab as Uint8Array, viewOf(source, start, end), this.#to);
    this.#to += end - start;
  }

  /** Text in ASCII. */
  text(text: string): void {
    const slab = this.#slab as Uint8Array;
    for (let i = 0; i < text.length; i++) slab[this.#to + i] = charCodeAt(text, i);
    this.#to += text.length;
  }

  uint32(value: number): void {
    writeUint32(this.#slab as Uint8Array, this.#to, value);
    this.#to += 4;
  }

  /**
   * Hand over what was added, unless a write is under way.
   * @returns whether there was something and the transport has taken it at once.
   */
  flush(): boolean {
    if (this.#inFlight || this.#from === this.#to) return false;
    const slab = this.#slab as Uint8Array;
    const view = viewOf(slab, this.#from, this.#to);
    this.#seal(view);
    this.#total += this.#to - this.#from;
    this.#from = this.#to;
    this.#inFlight = slab;
    const write = ++this.#writes;
    this.#transport.write(view, () => {
      if (!this.#inFlight || write !== this.#writes) return;
      this.#done(this.#inFlight);
      this.#onWritten();
    });
    // The callback of a write that is done at once comes a tick later, or not at all where ticks were tampered with.
    if (this.#transport.writableLength > 0) return false;
    this.#done(slab);
    return true;
  }

  #done(slab: Uint8Array): void {
    this.#inFlight = undefined;
    if (!this.#isReusable) return;
    if (slab !== this.#slab) {
      this.#spare = slab;
    } else if (this.#from === this.#to) {
      this.#from = 0;
      this.#to = 0;
    }
  }
}
