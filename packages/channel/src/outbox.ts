import type { Duplex } from 'node:stream';
import { type FrameType, headerBytes, writeHeader } from './frame.ts';
import { Bytes, latin1Write, setBytes, viewOf } from './primordials.ts';

/** Bytes handed to the transport and not yet taken by the kernel, above which no more are handed over. */
const highWaterBytes = 256 * 1024;
const slabBytes = 16 * 1024;
/** Up to here a payload is copied next to its header; above, it is handed over as it is. */
const copyBytes = 4 * 1024;

/**
 * Writes frames to the transport in batches: all that was added between `begin` and `flush` is one `writev`. It holds no
 * queue of its own beyond one batch; `hasRoom` tells when to stop adding, `onRoom` when to go on.
 */
export class Outbox {
  readonly #transport: Duplex;
  readonly #onRoom: () => void;
  #slab = new Bytes(slabBytes);
  /** `[#from, #to)` of the slab is filled and not handed over. Handed-over bytes are never written again. */
  #from = 0;
  #to = 0;
  /** The last piece of the batch: held back so that its callback can stand for all of the batch. */
  #last: Uint8Array | undefined;
  #open = false;
  #batch = 0;
  #unsent = 0;
  #total = 0;

  constructor(transport: Duplex, onRoom: () => void) {
    this.#transport = transport;
    this.#onRoom = onRoom;
  }

  get hasRoom(): boolean {
    return this.#unsent + this.#batch < highWaterBytes;
  }

  /** All bytes of all frames added so far. */
  get totalBytes(): number {
    return this.#total;
  }

  /** A header; its payload must follow by `bytes`, `text` or `uint32`. */
  header(type: FrameType, streamId: number, length: number): void {
    this.#reserve(headerBytes);
    writeHeader(this.#slab, this.#to, type, streamId, length);
    this.#to += headerBytes;
    this.#count(headerBytes);
  }

  /** `source[start, end)`, which must not be changed afterwards where it is long. */
  bytes(source: Uint8Array, start: number, end: number): void {
    const length = end - start;
    this.#count(length);
    const view = viewOf(source, start, end);
    if (length > copyBytes) {
      this.#cutSlab();
      this.#piece(view);
      return;
    }
    this.#reserve(length);
    setBytes(this.#slab, view, this.#to);
    this.#to += length;
  }

  /** Text in ISO 8859-1. */
  text(text: string): void {
    const { length } = text;
    this.#count(length);
    if (length > slabBytes) {
      const bytes = new Bytes(length);
      latin1Write(bytes, text, 0, length);
      this.#cutSlab();
      this.#piece(bytes);
      return;
    }
    this.#reserve(length);
    latin1Write(this.#slab, text, this.#to, length);
    this.#to += length;
  }

  uint32(value: number): void {
    this.#reserve(4);
    this.#slab[this.#to] = value >>> 24;
    this.#slab[this.#to + 1] = value >>> 16;
    this.#slab[this.#to + 2] = value >>> 8;
    this.#slab[this.#to + 3] = value;
    this.#to += 4;
    this.#count(4);
  }

  /** Hand what was added since the last flush to the transport. */
  flush(): void {
    if (this.#batch === 0) return;
    this.#cutSlab();
    const batch = this.#batch;
    this.#batch = 0;
    this.#unsent += batch;
    const last = this.#last as Uint8Array;
    this.#last = undefined;
    this.#transport.write(last, () => {
      const wasFull = this.#unsent >= highWaterBytes;
      this.#unsent -= batch;
      if (wasFull) this.#onRoom();
    });
    if (this.#open) {
      this.#open = false;
      this.#transport.uncork();
    }
  }

  #count(length: number): void {
    this.#batch += length;
    this.#total += length;
  }

  #reserve(length: number): void {
    if (this.#to + length <= slabBytes) return;
    this.#cutSlab();
    this.#slab = new Bytes(slabBytes);
    this.#from = 0;
    this.#to = 0;
  }

  #cutSlab(): void {
    if (this.#from === this.#to) return;
    this.#piece(viewOf(this.#slab, this.#from, this.#to));
    this.#from = this.#to;
  }

  #piece(bytes: Uint8Array): void {
    if (this.#last !== undefined) {
      if (!this.#open) {
        this.#open = true;
        this.#transport.cork();
      }
      this.#transport.write(this.#last);
    }
    this.#last = bytes;
  }
}
