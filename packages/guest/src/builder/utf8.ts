import { archiveRefusal } from './refusal.ts';

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** @throws Refusal `ARCHIVE_REFUSED`, for bytes that are not UTF-8: other readers would see another name. */
export function utf8(bytes: Uint8Array, what: string): string {
  try {
    return strict.decode(bytes);
  } catch {
    throw archiveRefusal(`${what} is not valid UTF-8`, Buffer.from(bytes).toString('latin1'));
  }
}
