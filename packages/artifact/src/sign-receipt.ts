import {
  type Digest,
  GloveboxError,
  type InstanceId,
  type Json,
  type ReceiptPredicate,
  receiptPredicateType,
  receiptStatementSchema,
  statementMediaType,
  statementType,
} from '@glovebox/contract';
import { canonicalJson } from './canonical.ts';
import { sha256Of } from './digest.ts';
import { encodeEnvelope, signedBytes } from './envelope.ts';

/** Signs with the key of an instance. */
export interface ReceiptSigner {
  readonly instance: InstanceId;
  /** sha256 of the public key's SubjectPublicKeyInfo in DER, in hex. */
  readonly keyId: string;
  /** @returns an Ed25519 signature over the bytes. */
  sign(payload: Uint8Array): Promise<Uint8Array>;
}

/** The subject of a statement: the attempt, by the digest of the bundle that it ran. */
export function subjectOf(predicate: ReceiptPredicate): { name: string; digest: { sha256: string } } {
  return { name: `attempt/${predicate.attempt}`, digest: { sha256: predicate.node.bundle.slice('sha256:'.length) } };
}

/**
 * Sign what one attempt was and did: an in-toto statement in canonical JSON, in a DSSE envelope.
 *
 * Texts that came from the cell may hold halves of surrogate pairs, which no UTF-8 can carry; they become U+FFFD, so that
 * no node can keep its own receipt from being written.
 *
 * @returns the envelope as canonical JSON, and sha256 of its bytes.
 * @throws GloveboxError `INTERNAL` when the predicate is not one that `verifyReceipt` would accept.
 */
export async function signReceipt(
  predicate: ReceiptPredicate,
  signer: ReceiptSigner,
): Promise<{ envelopeText: string; digest: Digest }> {
  const checked = receiptStatementSchema.safeParse({
    _type: statementType,
    subject: [subjectOf(predicate)],
    predicateType: receiptPredicateType,
    predicate: wellFormed(predicate as unknown as Json),
  });
  if (!checked.success) {
    throw new GloveboxError('INTERNAL', { message: 'the receipt is not valid', cause: checked.error });
  }
  if (predicate.instance !== signer.instance) {
    throw new GloveboxError('INTERNAL', { message: 'the receipt names another instance than the one that signs' });
  }
  const payload = Buffer.from(canonicalJson(checked.data));
  const sig = await signer.sign(signedBytes(statementMediaType, payload));
  const envelopeText = canonicalJson(encodeEnvelope(statementMediaType, payload, [{ keyId: signer.keyId, sig }]));
  return { envelopeText, digest: sha256Of(envelopeText) };
}

function wellFormed(value: Json): Json {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key.toWellFormed(), wellFormed(member)]));
}
