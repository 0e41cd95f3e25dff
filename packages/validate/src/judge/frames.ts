/**
 * What passes between a judge and its child: length of the head and length of the body (4 bytes each, big endian), the
 * head in JSON, the body as it is.
 */
export interface Frame {
  head: Buffer;
  body: Buffer;
}

export interface FrameLimits {
  headBytes: number;
  bodyBytes: number;
}

export const lengthBytes = 8;

export function encodeFrame(head: object, body: Uint8Array = new Uint8Array()): Buffer[] {
  const text = Buffer.from(JSON.stringify(head));
  const lengths = Buffer.alloc(lengthBytes);
  lengths.writeUInt32BE(text.length, 0);
  lengths.writeUInt32BE(body.length, 4);
  return [lengths, text, Buffer.from(body.buffer, body.byteOffset, body.byteLength)];
}

/** The lengths of the frame that begins here; undefined when one is over its limit. */
export function readLengths(bytes: Buffer, limits: FrameLimits): { head: number; body: number } | undefined {
  const head = bytes.readUInt32BE(0);
  const body = bytes.readUInt32BE(4);
  return head <= limits.headBytes && body <= limits.bodyBytes ? { head, body } : undefined;
}

/**
 * Puts frames together from chunks. Holds at most twice a frame and a chunk, also where the chunks have one byte each: a
 * list of them would take a hundred times as much.
 */
export class FrameReader {
  readonly #limits: FrameLimits;
  #bytes: Buffer = Buffer.alloc(0);
  #filled = 0;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  /** @returns the frames that are complete now; undefined when one is over a limit. */
  push(chunk: Buffer): Frame[] | undefined {
    this.#append(chunk);
    const frames: Frame[] = [];
    let at = 0;
    while (this.#filled - at >= lengthBytes) {
      const lengths = readLengths(this.#bytes.subarray(at), this.#limits);
      if (lengths === undefined) return undefined;
      const body = at + lengthBytes + lengths.head;
      const end = body + lengths.body;
      if (this.#filled < end) break;
      // Copies: what follows is moved to the front.
      frames.push({
        head: Buffer.from(this.#bytes.subarray(at + lengthBytes, body)),
        body: Buffer.from(this.#bytes.subarray(body, end)),
      });
      at = end;
    }
    this.#bytes.copyWithin(0, at, this.#filled);
    this.#filled -= at;
    return frames;
  }

  #append(chunk: Buffer): void {
    const length = this.#filled + chunk.length;
    if (length > this.#bytes.length) {
      const grown = Buffer.alloc(Math.max(length, 2 * this.#bytes.length));
      grown.set(this.#bytes.subarray(0, this.#filled));
      this.#bytes = grown;
    }
    this.#bytes.set(chunk, this.#filled);
    this.#filled = length;
  }
}
