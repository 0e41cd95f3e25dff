import type { Readable } from 'node:stream';
import { GloveboxError } from '@glovebox/contract';

const newline = 0x0a;

/**
 * Take one line off a stream, without its end, and leave in the stream what follows: it may be no line at all. Nothing
 * else may read from the stream meanwhile.
 *
 * @returns undefined where the stream is over before a line has begun.
 * @throws GloveboxError `CELLD_PROTOCOL` for a line of more than `maxBytes`, or one that breaks off.
 */
export function readLine(stream: Readable, maxBytes: number): Promise<Buffer | undefined> {
  return new Promise((resolve, reject) => {
    let held: Buffer = Buffer.alloc(0);
    const finish = (action: () => void): void => {
      stream.off('readable', take).off('end', over).off('close', over).off('error', over);
      action();
    };
    const take = (): void => {
      for (let chunk: Buffer | null = stream.read(); chunk !== null; chunk = stream.read()) {
        held = Buffer.concat([held, chunk]);
        const end = held.indexOf(newline);
        if (end > maxBytes || (end < 0 && held.length > maxBytes)) {
          finish(() => reject(protocolError(`A line is over ${maxBytes} bytes`)));
          return;
        }
        if (end < 0) continue;
        const line = held.subarray(0, end);
        const rest = held.subarray(end + 1);
        finish(() => {
          if (rest.length > 0) stream.unshift(rest);
          resolve(line);
        });
        return;
      }
    };
    const over = (): void =>
      finish(() => {
        if (held.length > 0) reject(protocolError('A line broke off'));
        else resolve(undefined);
      });
    if (stream.destroyed || stream.readableEnded) {
      over();
      return;
    }
    stream.on('readable', take).on('end', over).on('close', over).on('error', over);
    take();
  });
}

/** @throws GloveboxError `CELLD_PROTOCOL` where the bytes are not UTF-8. */
export function decodeText(line: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(line);
  } catch (cause) {
    throw protocolError('A line is not UTF-8', cause);
  }
}

export const protocolError = (message: string, cause?: unknown): GloveboxError =>
  new GloveboxError('CELLD_PROTOCOL', { message: `${message}.`, cause });
