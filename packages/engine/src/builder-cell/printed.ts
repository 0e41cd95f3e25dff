import type { Readable } from 'node:stream';

/** At each end: a program says first why it dies, and last where. */
const keptBytes = 4 * 1024;

/** The first and the last of what a cell writes to one of its descriptors. */
export class Printed {
  #head: Buffer = Buffer.alloc(0);
  #tail: Buffer = Buffer.alloc(0);
  #length = 0;

  /**
   * Read to the end, so that the cell never blocks on it.
   *
   * @param maxBytes what may come before `onFlood` is called, once: a cell that floods costs its host time.
   */
  constructor(stream: Readable, maxBytes = Number.POSITIVE_INFINITY, onFlood: () => void = () => {}) {
    stream.on('data', (chunk: Buffer) => {
      const before = this.#length;
      this.#length += chunk.length;
      if (before <= maxBytes && this.#length > maxBytes) onFlood();
      const taken = Math.max(0, keptBytes - this.#head.length);
      if (taken > 0) this.#head = Buffer.concat([this.#head, chunk.subarray(0, taken)]);
      this.#tail = Buffer.concat([this.#tail, chunk.subarray(taken)]).subarray(-keptBytes);
    });
    stream.on('error', () => {});
  }

  text(): string {
    return Buffer.concat([this.#head, this.#tail]).toString('utf8');
  }
}
