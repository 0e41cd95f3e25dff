import { createHash } from 'node:crypto';
import type { ServerStream } from '@glovebox/channel';

export const acceptOf = (key: string): string =>
  createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');

/** Echo frames of at most 125 bytes of payload, until one closes the connection. RFC 6455. */
export async function echoFrames(stream: ServerStream): Promise<void> {
  let rest = Buffer.alloc(0);
  for await (const chunk of stream.body) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 2) {
      const length = (rest[1] as number) & 0x7f;
      if (length > 125 || rest.length < 6 + length) break;
      const mask = rest.subarray(2, 6);
      const payload = Buffer.from(rest.subarray(6, 6 + length).map((byte, i) => byte ^ (mask[i % 4] as number)));
      await stream.write(Buffer.concat([Buffer.from([rest[0] as number, length]), payload]));
      if (((rest[0] as number) & 0x0f) === 8) return;
      rest = rest.subarray(6 + length);
    }
  }
}
