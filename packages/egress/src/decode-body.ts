import { pipeline, Readable, type Transform } from 'node:stream';
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  constants as zlib,
} from 'node:zlib';
import { GloveboxError } from '@glovebox/contract';
import { dialFailure } from './dial-failure.ts';
import { type Coding, isWide, type WideDecoders } from './wide-decoders.ts';

/** Each layer may multiply the size by a thousand. Two are seen where a proxy packs what was packed. */
const maxEncodings = 2;
/** The most that a decoder gives at once: what is above it waits until it is read. */
const chunkSize = 64 * 1024;
/** 8 MiB, the most that RFC 9659 lets a sender of zstd want; the format itself goes up to terabytes. */
const zstdWindowLog = 23;
/** How many bytes more than they become a body's bytes may be: headers and flushes of its format, and no endless nothing. */
const emptyBytes = 1024 * 1024;

const codings: ReadonlyMap<string, Coding> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
  ['br', 'br'],
  ['zstd', 'zstd'],
]);

/**
 * Read `Content-Encoding`.
 *
 * @returns what was applied, in that order; empty where the body is as it is.
 * @throws GloveboxError `EGRESS_FAILED` (`ENCODING_REFUSED`) for more than two and for one that we do not know.
 */
export function readEncodings(value: string | undefined, origin: string): readonly Coding[] {
  const names = (value ?? '')
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'identity');
  const known = names.map((name) => codings.get(name)).filter((coding) => coding !== undefined);
  if (names.length > maxEncodings || known.length < names.length) {
    throw dialFailure(
      'ENCODING_REFUSED',
      `${origin}: the answer has ${names.length > maxEncodings ? 'more than two encodings' : 'an encoding that is not known'}.`,
    );
  }
  return known;
}

/**
 * Undo encodings while the body is read, and only as far as it is read: nobody knows the size beforehand, so the reader counts
 * and stops. When he stops, so does the decoder, and the body is cancelled.
 *
 * @throws while it is read, GloveboxError `EGRESS_FAILED` (`ENCODING_BROKEN`) for what is damaged, ends too early, or goes on
 *   without becoming anything, which no budget of its reader would count.
 */
export async function* decodeBody(
  body: AsyncIterable<Uint8Array> & { cancel(): void },
  encodings: readonly Coding[],
  origin: string,
  decoders: WideDecoders,
): AsyncGenerator<Uint8Array, void, undefined> {
  let surplus = 0;
  let decoded: AsyncIterable<Uint8Array> = counted(body, (bytes) => {
    surplus += bytes;
    if (surplus > emptyBytes) throw dialFailure('ENCODING_BROKEN', `${origin}: the body becomes nothing.`);
  });
  for (const coding of encodings.toReversed()) decoded = undo(decoded, coding, decoders);
  try {
    for await (const chunk of decoded) {
      surplus -= chunk.byteLength;
      yield chunk;
    }
  } catch (error) {
    if (GloveboxError.is(error)) throw error;
    throw dialFailure('ENCODING_BROKEN', `${origin}: the body is not what its encoding says.`);
  } finally {
    // The loops between here and there may be waiting for a byte that never comes.
    body.cancel();
  }
}

async function* counted(
  body: AsyncIterable<Uint8Array>,
  count: (bytes: number) => void,
): AsyncGenerator<Uint8Array, void, undefined> {
  for await (const chunk of body) {
    count(chunk.byteLength);
    yield chunk;
  }
}

async function* undo(
  body: AsyncIterable<Uint8Array>,
  coding: Coding,
  decoders: WideDecoders,
): AsyncGenerator<Uint8Array, void, undefined> {
  const { first, whole } = await peek(body);
  // Some servers send nothing at all, not even the frame of an empty body.
  if (first === undefined) return;
  const source = Readable.from(whole, { objectMode: true, highWaterMark: 1 });
  const release = isWide(coding) ? decoders.open() : () => {};
  const decoder = decoderOf(coding, first);
  // Errors of either reach the loop below by way of the decoder.
  pipeline(source, decoder, () => {});
  try {
    for await (const chunk of decoder) yield chunk as Uint8Array;
  } finally {
    decoder.destroy();
    source.destroy();
    release();
  }
}

function decoderOf(coding: Coding, first: Uint8Array): Transform {
  switch (coding) {
    case 'gzip':
      return createGunzip({ chunkSize });
    case 'deflate':
      // RFC 9110 means zlib's format; some servers send the bare one.
      return isZlib(first) ? createInflate({ chunkSize }) : createInflateRaw({ chunkSize });
    case 'br':
      return createBrotliDecompress({ chunkSize });
    case 'zstd':
      return createZstdDecompress({ chunkSize, params: { [zlib.ZSTD_d_windowLogMax]: zstdWindowLog } });
  }
}

/** RFC 1950, section 2.2: method 8, and with the flags a multiple of 31. One byte alone is judged by its method. */
const isZlib = ([method = 0, flags]: Uint8Array): boolean =>
  (method & 0x0f) === 8 && (flags === undefined || (method * 256 + flags) % 31 === 0);

async function peek(
  body: AsyncIterable<Uint8Array>,
): Promise<{ first: Uint8Array | undefined; whole: AsyncIterable<Uint8Array> }> {
  const reader = body[Symbol.asyncIterator]();
  let next = await reader.next();
  while (!next.done && next.value.byteLength === 0) next = await reader.next();
  const first = next.done ? undefined : next.value;
  return { first, whole: withFirst(first, reader) };
}

async function* withFirst(
  first: Uint8Array | undefined,
  reader: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  try {
    if (first !== undefined) yield first;
    for (let next = await reader.next(); !next.done; next = await reader.next()) yield next.value;
  } finally {
    await reader.return?.();
  }
}
