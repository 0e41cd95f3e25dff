import type { ChannelLimits } from './api.ts';
import {
  type FrameType,
  frameType,
  headerBytes,
  headerViolation,
  type Role,
  readUint32,
  type Violation,
} from './frame.ts';
import { Bytes, byteLengthOf, setBytes, viewOf } from './primordials.ts';

/** What the decoder tells. Each answers a violation to end the decoding, or undefined. */
export interface FrameSink {
  /** A DATA frame begins. Its payload follows in one or more `data` calls, `length` bytes in all. */
  dataBegins(streamId: number, length: number): Violation | undefined;
  /** `bytes[start, end)` is the next part of the payload. It is the sink's to copy: `bytes` may be large. */
  data(streamId: number, bytes: Uint8Array, start: number, end: number): Violation | undefined;
  /** Any other frame, complete. `bytes[start, end)` is its payload, valid during the call. */
  frame(type: FrameType, streamId: number, bytes: Uint8Array, start: number, end: number): Violation | undefined;
}

/**
 * Cuts a byte stream into frames, however it arrives. Keeps at most one header and one payload that is not DATA, which
 * is never longer than a head may be. Never throws for any bytes.
 */
export class FrameDecoder {
  readonly #role: Role;
  readonly #limits: ChannelLimits;
  readonly #sink: FrameSink;
  readonly #header = new Bytes(headerBytes);
  #headerFill = 0;
  #type: FrameType = frameType.hello;
  #streamId = 0;
  /** Bytes of the current payload that have not arrived; 0 between frames. */
  #missing = 0;
  #payload: Uint8Array | undefined;
  #payloadFill = 0;
  #stopped = false;
  #violation: Violation | undefined;
  #frames = 0;

  constructor(role: Role, limits: ChannelLimits, sink: FrameSink) {
    this.#role = role;
    this.#limits = limits;
    this.#sink = sink;
  }

  /** Whether the stream could end here without cutting a frame. */
  get betweenFrames(): boolean {
    return this.#headerFill === 0 && this.#missing === 0;
  }

  /** Headers seen so far. */
  get frames(): number {
    return this.#frames;
  }

  /** What ended the decoding, if anything did. */
  get violation(): Violation | undefined {
    return this.#violation;
  }

  /** Nothing is told to the sink from now on. */
  stop(): void {
    this.#stopped = true;
    this.#payload = undefined;
  }

  /**
   * Decode from `at` until the chunk is used up, or until `lastFrame` headers were seen in all.
   * @returns how far it came; the rest is to be pushed again.
   */
  push(chunk: Uint8Array, at: number, lastFrame: number): number {
    const length = byteLengthOf(chunk);
    while (at < length && !this.#stopped && (this.#frames < lastFrame || this.#missing > 0)) {
      if (this.#missing === 0) {
        if (this.#headerFill === 0 && length - at >= headerBytes) {
          this.#begin(chunk, at);
          at += headerBytes;
        } else {
          this.#header[this.#headerFill++] = chunk[at++] as number;
          if (this.#headerFill === headerBytes) {
            this.#headerFill = 0;
            this.#begin(this.#header, 0);
          }
        }
      } else {
        const end = length - at < this.#missing ? length : at + this.#missing;
        this.#take(chunk, at, end);
        at = end;
      }
    }
    return at;
  }

  #begin(bytes: Uint8Array, offset: number): void {
    this.#frames++;
    const violation = headerViolation(bytes, offset, this.#role, this.#limits);
    if (violation) {
      this.#end(violation);
      return;
    }
    this.#missing = readUint32(bytes, offset);
    this.#type = bytes[offset + 4] as FrameType;
    this.#streamId = readUint32(bytes, offset + 8);
    if (this.#type === frameType.data) this.#end(this.#sink.dataBegins(this.#streamId, this.#missing));
    else if (this.#missing === 0) this.#end(this.#sink.frame(this.#type, this.#streamId, bytes, 0, 0));
  }

  #take(chunk: Uint8Array, start: number, end: number): void {
    const whole = end - start === this.#missing && this.#payload === undefined;
    this.#missing -= end - start;
    if (this.#type === frameType.data) this.#end(this.#sink.data(this.#streamId, chunk, start, end));
    else if (whole) this.#end(this.#sink.frame(this.#type, this.#streamId, chunk, start, end));
    else this.#gather(chunk, start, end);
  }

  #gather(chunk: Uint8Array, start: number, end: number): void {
    if (this.#payload === undefined) {
      this.#payload = new Bytes(end - start + this.#missing);
      this.#payloadFill = 0;
    }
    const payload = this.#payload;
    setBytes(payload, viewOf(chunk, start, end), this.#payloadFill);
    this.#payloadFill += end - start;
    if (this.#missing > 0) return;
    this.#payload = undefined;
    this.#end(this.#sink.frame(this.#type, this.#streamId, payload, 0, this.#payloadFill));
  }

  #end(violation: Violation | undefined): void {
    if (violation === undefined || this.#stopped) return;
    this.#violation = violation;
    this.stop();
  }
}
