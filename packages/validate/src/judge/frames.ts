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

/** Puts frames together from chunks. Holds at most one frame and a chunk. */
export class FrameReader {
  readonly #limits: FrameLimits;
  #chunks: Buffer[] = [];
  #buffered = 0;
  #wanted = lengthBytes;

  constructor(limits: FrameLimits) {
    this.#limits = limits;
  }

  /** @returns the frames that are complete now; undefined when one is over a limit. */
  push(chunk: Buffer): Frame[] | undefined {
    this.#chunks.push(chunk);
    this.#buffered += chunk.length;
    const frames: Frame[] = [];
    while (this.#buffered >= this.#wanted) {
      const all = Buffer.concat(this.#chunks);
      const lengths = readLengths(all, this.#limits);
      if (lengths === undefined) return undefined;
      const end = lengthBytes + lengths.head + lengths.body;
      const complete = all.length >= end;
      if (complete) {
        const body = lengthBytes + lengths.head;
        frames.push({ head: all.subarray(lengthBytes, body), body: all.subarray(body, end) });
      }
      const rest = complete ? all.subarray(end) : all;
      this.#chunks = [rest];
      this.#buffered = rest.length;
      this.#wanted = complete ? lengthBytes : end;
    }
    return frames;
  }
}
