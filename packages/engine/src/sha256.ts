import { createHash } from 'node:crypto';

/** `sha256:` and the hex digits. */
export function sha256(content: string | Uint8Array): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
