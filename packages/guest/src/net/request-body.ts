import type { Framing } from './request-head.ts';

const maxSizeLine = 1024;
const maxTrailerBytes = 64 * 1024;
const sizeLine = /^([0-9a-fA-F]{1,13})[ \t]*(;.*)?$/;

type Step = { kind: 'data'; bytes: Buffer } | { kind: 'more' } | { kind: 'end' } | { kind: 'broken' };

/** The body of one request, out of the bytes that a client writes. Trailers are read and dropped. */
export class RequestBody {
  readonly #framing: Framing;
  #left: number;
  #phase: 'size' | 'data' | 'data-end' | 'trailers' = 'size';

  constructor(framing: Framing) {
    this.#framing = framing;
    this.#left = framing.kind === 'length' ? framing.left : 0;
  }

  /** The next part at the start of `bytes`. @returns it, and how many bytes it took. */
  next(bytes: Buffer): { step: Step; used: number } {
    if (this.#framing.kind === 'chunked') return this.#nextChunked(bytes);
    if (this.#left === 0) return { step: { kind: 'end' }, used: 0 };
    return this.#data(bytes);
  }

  #data(bytes: Buffer): { step: Step; used: number } {
    if (bytes.length === 0) return { step: { kind: 'more' }, used: 0 };
    const part = bytes.subarray(0, this.#left);
    this.#left -= part.length;
    return { step: { kind: 'data', bytes: part }, used: part.length };
  }

  #nextChunked(bytes: Buffer): { step: Step; used: number } {
    let at = 0;
    for (;;) {
      if (this.#phase === 'data') {
        const { step, used } = this.#data(bytes.subarray(at));
        if (this.#left === 0) this.#phase = 'data-end';
        return { step, used: at + used };
      }
      const end = bytes.indexOf('\r\n', at, 'latin1');
      const most = this.#phase === 'trailers' ? maxTrailerBytes : maxSizeLine;
      if (end === -1) return { step: { kind: bytes.length - at > most ? 'broken' : 'more' }, used: at };
      const line = bytes.toString('latin1', at, end);
      at = end + 2;
      if (this.#phase === 'data-end') {
        if (line !== '') return { step: { kind: 'broken' }, used: at };
        this.#phase = 'size';
      } else if (this.#phase === 'trailers') {
        if (line === '') return { step: { kind: 'end' }, used: at };
      } else {
        const [, size] = sizeLine.exec(line) ?? [];
        if (size === undefined) return { step: { kind: 'broken' }, used: at };
        this.#left = Number.parseInt(size, 16);
        this.#phase = this.#left === 0 ? 'trailers' : 'data';
      }
    }
  }
}
