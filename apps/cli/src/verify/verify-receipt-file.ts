import type { FileHandle } from 'node:fs/promises';
import { maxEnvelopeBytes, type TrustedKeyTexts, verifyReceipt } from '@glovebox/artifact';
import { GloveboxError, type ReceiptStatement } from '@glovebox/contract';
import { readStart } from './unsafe-file.ts';
import type { Verified } from './verified.ts';

/** @throws GloveboxError `RECEIPT_*`, `KEY_RETIRED`. */
export async function verifyReceiptFile(file: FileHandle, path: string, trusted: TrustedKeyTexts): Promise<Verified> {
  const bytes = await readStart(file, maxEnvelopeBytes + 1);
  if (bytes.length > maxEnvelopeBytes)
    throw new GloveboxError('RECEIPT_UNREADABLE', {
      message: `${path} is too large for a receipt.`,
      place: { file: path },
    });
  const verified = verifyReceipt(bytes, trusted);
  if (!verified.ok) throw GloveboxError.fromData(verified.error);
  return verifiedReceipt(verified, false);
}

export function verifiedReceipt(
  { keyId, statement }: { keyId: string; statement: ReceiptStatement },
  comparedWithRecord: boolean,
): Verified {
  const { predicate } = statement;
  const { observed, node } = predicate;
  return {
    json: { verified: true, kind: 'receipt', keyId, comparedWithRecord, statement },
    words: [
      `attempt   ${predicate.attempt} of ${predicate.run}`,
      `node      ${node.id}@${node.version}`,
      `bundle    ${node.bundle}`,
      `image     ${observed.image}`,
      `state     ${observed.state}${observed.errorCode ? ` ${observed.errorCode}` : ''}`,
      `cell      class ${observed.class}, ${observed.driver.name} by ${observed.driver.runtime} ${observed.driver.version}`,
      `in force  ${observed.properties.join(', ')}`,
      `egress    ${observed.egress.requests} requests`,
    ],
  };
}
