import { type BuildInput, buildLimits } from '@glovebox/contract/build-limits';

/** Bytes as they arrive in pieces, handed out in the lengths that the reader asks for. */
class ByteReader {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** Exactly `length` bytes, in memory of their own. */
  async take(length: number): Promise<Buffer> {
    const taken = Buffer.allocUnsafe(length);
    let filled = 0;
    while (filled < length) {
      if (this.#rest.length === 0) {
        const next = await this.#source.next();
        if (next.done) throw new Error('the inputs end in the middle of a record');
        this.#rest = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
        continue;
      }
      const copied = this.#rest.copy(taken, filled, 0, length - filled);
      filled += copied;
      this.#rest = this.#rest.subarray(copied);
    }
    return taken;
  }

  async end(): Promise<void> {
    if (this.#rest.length > 0 || !(await this.#source.next()).done) throw new Error('the inputs go on after their end');
  }
}

/**
 * The records that the host sends, in order, up to but without `end`, with which the body ends too. Lengths are bounded before anything is allocated:
 * the host does that as well, but a defect on either side must not show as a full cell.
 */
export async function* readInputs(
  body: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ input: Exclude<BuildInput, { kind: 'end' }>; bytes: Buffer }> {
  const reader = new ByteReader(body);
  for (;;) {
    const headerLength = (await reader.take(4)).readUInt32LE(0);
    if (headerLength > buildLimits.headerBytes) throw new Error('an input header is too long');
    const input = JSON.parse((await reader.take(headerLength)).toString('utf8')) as BuildInput;
    if (input.kind === 'end') return reader.end();
    const limit = input.kind === 'file' ? buildLimits.authorBytes : buildLimits.archiveBytes;
    if (!Number.isSafeInteger(input.sizeBytes) || input.sizeBytes < 0 || input.sizeBytes > limit) {
      throw new Error('an input has no valid size');
    }
    yield { input, bytes: await reader.take(input.sizeBytes) };
  }
}
