import { createHash } from 'node:crypto';
import type { Digest } from '@glovebox/contract';

/** `sha256:` and hex of the bytes; of a text, of its UTF-8 bytes. */
export function sha256Of(content: Uint8Array | string): Digest {
  return `sha256:${createHash('sha256').update(content).digest('hex')}` as Digest;
}
