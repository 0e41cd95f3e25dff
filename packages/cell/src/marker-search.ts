/** Bytes up to a marker, and those after it. */
export interface Searched {
  /** What is known not to be of the marker, in order; views, not copies. */
  before: Uint8Array[];
  /** What follows the marker in this chunk; undefined where the marker has not ended yet. */
  after: Uint8Array | undefined;
}

/**
 * Looks for a marker in bytes that come in chunks of any size (Knuth, Morris and Pratt): a byte that may be of the marker is
 * held back until it is known. What is held back is a beginning of the marker, so it needs no memory.
 */
export class MarkerSearch {
  readonly #marker: Uint8Array;
  /** By the number of bytes that fit: how many still fit where the next does not. */
  readonly #fallback: number[];
  #matched = 0;

  constructor(marker: Uint8Array) {
    if (marker.length === 0) throw new TypeError('a marker has at least one byte');
    this.#marker = Uint8Array.from(marker);
    this.#fallback = fallbacks(this.#marker);
  }

  /** Not to be called again once the marker is found. */
  take(chunk: Uint8Array): Searched {
    const marker = this.#marker;
    const heldBefore = this.#matched;
    let matched = heldBefore;
    for (let at = 0; at < chunk.length; at++) {
      if (matched === 0) {
        at = chunk.indexOf(marker[0] as number, at);
        if (at < 0) break;
      }
      while (matched > 0 && chunk[at] !== marker[matched]) matched = this.#fallback[matched] as number;
      if (chunk[at] === marker[matched]) matched++;
      if (matched === marker.length) {
        const before = this.#released(chunk, heldBefore, heldBefore + at + 1 - marker.length);
        return { before, after: chunk.subarray(at + 1) };
      }
    }
    this.#matched = matched;
    return { before: this.#released(chunk, heldBefore, heldBefore + chunk.length - matched), after: undefined };
  }

  /** What is held back, for when nothing more comes. */
  held(): Uint8Array {
    return this.#marker.subarray(0, this.#matched);
  }

  /** The first `length` bytes of those that were held and those of the chunk. */
  #released(chunk: Uint8Array, held: number, length: number): Uint8Array[] {
    const parts = [this.#marker.subarray(0, Math.min(held, length)), chunk.subarray(0, Math.max(0, length - held))];
    return parts.filter((part) => part.length > 0);
  }
}

function fallbacks(marker: Uint8Array): number[] {
  const table = [0, 0];
  for (let length = 1, fits = 0; length < marker.length; length++) {
    while (fits > 0 && marker[length] !== marker[fits]) fits = table[fits] as number;
    if (marker[length] === marker[fits]) fits++;
    table.push(fits);
  }
  return table;
}
