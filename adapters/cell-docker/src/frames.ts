import { Transform, type TransformCallback } from 'node:stream';
import { GloveboxError } from '@glovebox/contract';

/** An engine's numbers for what a frame holds. */
export const frameStreams = { stdout: 1, stderr: 2 } as const;

const headerBytes = 8;

/**
 * Takes the frames of one stream off what an engine sends to whoever attached: eight bytes (stream, three zeros, length in
 * network order), then as many bytes. Payload passes in the pieces in which it comes, uncopied, and no frame is collected:
 * a length costs nothing, however large. What is not such frames of that very stream destroys it with `ENGINE_REFUSED`.
 */
export class FrameReader extends Transform {
  readonly #stream: number;
  readonly #header = Buffer.alloc(headerBytes);
  #headerFilled = 0;
  #payloadLeft = 0;

  constructor(stream: keyof typeof frameStreams) {
    super();
    this.#stream = frameStreams[stream];
  }

  /** Whether what came so far ends in the middle of a frame. */
  get isWithinFrame(): boolean {
    return this.#headerFilled > 0 || this.#payloadLeft > 0;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    done(this.#take(chunk) ? null : misframed());
  }

  /** @returns whether it is what it should be. */
  #take(chunk: Buffer): boolean {
    for (let at = 0; at < chunk.length; ) {
      if (this.#payloadLeft > 0) {
        const part = chunk.subarray(at, at + this.#payloadLeft);
        this.#payloadLeft -= part.length;
        at += part.length;
        this.push(part);
        continue;
      }
      const taken = chunk.copy(this.#header, this.#headerFilled, at, at + headerBytes - this.#headerFilled);
      this.#headerFilled += taken;
      at += taken;
      if (this.#headerFilled < headerBytes) break;
      this.#headerFilled = 0;
      if (this.#header.readUInt32BE(0) !== this.#stream * 2 ** 24) return false;
      this.#payloadLeft = this.#header.readUInt32BE(4);
    }
    return true;
  }
}

const misframed = (): GloveboxError =>
  new GloveboxError('ENGINE_REFUSED', {
    message: 'The container engine sent something else than frames of the stream.',
  });
