import { crc32, inflateRawSync } from 'node:zlib';
import { buildLimits } from '@glovebox/contract/build-limits';
import { archiveRefusal } from './refusal.ts';

const flags = { headerCrc: 2, extra: 4, name: 8, comment: 16, reserved: 0xe0 } as const;

/** The most that a gzip of this size may inflate to; a bomb stops there, before more is allocated. */
export function inflateLimit(compressedBytes: number): number {
  const byRatio = Math.max(buildLimits.inflateFloorBytes, compressedBytes * buildLimits.inflateRatio);
  return Math.min(buildLimits.unpackedBytes, byRatio);
}

/**
 * Inflate a gzip file (RFC 1952) of exactly one member.
 *
 * A second member or bytes behind the first are refused: readers differ in whether they see them, and what one tool
 * checks must be what another one runs.
 *
 * @throws Refusal `ARCHIVE_REFUSED`.
 */
export function gunzip(file: Buffer, maxBytes: number = inflateLimit(file.length)): Buffer {
  const start = headerEnd(file);
  const body = file.subarray(start);
  let inflated: Buffer;
  let consumed: number;
  try {
    const result = inflateRawSync(body, {
      maxOutputLength: maxBytes,
      chunkSize: chunkSize(file, maxBytes),
      info: true,
    }) as unknown as { buffer: Buffer; engine: { bytesWritten: number } };
    inflated = result.buffer;
    consumed = result.engine.bytesWritten;
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_BUFFER_TOO_LARGE') {
      throw archiveRefusal(`it inflates to more than ${maxBytes} bytes from ${file.length}`);
    }
    throw archiveRefusal('it is not a valid gzip file');
  }
  const trailer = start + consumed;
  if (file.length < trailer + 8) throw archiveRefusal('it is cut short');
  if (file.length > trailer + 8) throw archiveRefusal('it has bytes behind its end');
  if (file.readUInt32LE(trailer) !== crc32(inflated)) throw archiveRefusal('its checksum is wrong');
  if (file.readUInt32LE(trailer + 4) !== inflated.length) throw archiveRefusal('its length field is wrong');
  return inflated;
}

/** What the file says of its own length, within bounds: with one chunk of that size nothing is copied. */
function chunkSize(file: Buffer, maxBytes: number): number {
  const claimed = file.length >= 18 ? file.readUInt32LE(file.length - 4) : 0;
  return Math.max(64 * 1024, Math.min(claimed, maxBytes) + 1);
}

function headerEnd(file: Buffer): number {
  if (file.length < 18 || file[0] !== 0x1f || file[1] !== 0x8b || file[2] !== 8) {
    throw archiveRefusal('it is not a gzip file');
  }
  const set = file[3] as number;
  if ((set & flags.reserved) !== 0) throw archiveRefusal('it is not a valid gzip file');
  let at = 10;
  if (set & flags.extra) at += 2 + file.readUInt16LE(at);
  for (const field of [flags.name, flags.comment]) {
    if (set & field) {
      const nul = file.indexOf(0, at);
      if (nul === -1) throw archiveRefusal('it is cut short');
      at = nul + 1;
    }
  }
  if (set & flags.headerCrc) at += 2;
  if (at + 8 > file.length) throw archiveRefusal('it is cut short');
  return at;
}
