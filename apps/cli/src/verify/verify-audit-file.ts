import type { FileHandle } from 'node:fs/promises';
import { type TrustedKeyTexts, verifyAuditExport } from '@glovebox/artifact';
import { GloveboxError } from '@glovebox/contract';
import { readLines } from './unsafe-file.ts';
import type { Verified } from './verified.ts';

/** An entry has digests and reasons, a checkpoint is an envelope of a few hundred bytes. */
const maxLineBytes = 1024 * 1024;

/** @throws GloveboxError `AUDIT_*`, `ATTESTATION_KEY_UNKNOWN`, `KEY_RETIRED`. */
export async function verifyAuditFile(file: FileHandle, trusted: TrustedKeyTexts): Promise<Verified> {
  const verified = await verifyAuditExport(() => readLines(file, maxLineBytes, tooLong), trusted);
  if (!verified.ok) throw GloveboxError.fromData(verified.error);
  const { entries, head, signedUpTo, keyId } = verified;
  return {
    json: {
      verified: true,
      kind: 'audit',
      keyId: keyId ?? '',
      comparedWithRecord: false,
      entries,
      head: head === null ? null : { seq: entries, hash: head },
      signedUpTo,
    },
    words: [
      `entries   ${entries}`,
      `head      ${head}`,
      `signed    up to ${signedUpTo}${signedUpTo < entries ? '; what comes after could have been written by anyone' : ''}`,
    ],
  };
}

const tooLong = (line: number): GloveboxError =>
  new GloveboxError('AUDIT_BROKEN', { message: `Line ${line} has more than ${maxLineBytes} bytes.`, place: { line } });
