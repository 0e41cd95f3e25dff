/**
 * Bytes put together from parts of any size, in at most twice the memory that they take. A list of the parts would not do:
 * a cell or an origin that sends one byte at a time would make the host hold a hundred times as much as it sent.
 */
export class GatheredBytes {
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(part: Uint8Array): void {
    const length = this.#length + part.byteLength;
    if (length > this.#bytes.length) {
      const grown = Buffer.allocUnsafeSlow(Math.max(length, 2 * this.#bytes.length, 512));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
    }
    this.#bytes.set(part, this.#length);
    this.#length = length;
  }

  /** All of them, as a view that later parts do not change. */
  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** Take the first `length` bytes away. */
  take(length: number): Buffer {
    if (length === this.#length) {
      const all = this.bytes();
      this.clear();
      return all;
    }
    const taken = Buffer.from(this.#bytes.subarray(0, length));
    this.#bytes.copyWithin(0, length, this.#length);
    this.#length -= length;
    return taken;
  }

  clear(): void {
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
  }
}

/** The whole of a body; undefined when it is longer than `maxBytes`, in which case the rest is not read. */
export async function gatherBody(body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer | undefined> {
  const gathered = new GatheredBytes();
  for await (const part of body) {
    if (gathered.length + part.byteLength > maxBytes) return undefined;
    gathered.add(part);
  }
  return gathered.bytes();
}
