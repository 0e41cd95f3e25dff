import { type KeyObject, verify } from 'node:crypto';
import {
  type Digest,
  type ErrorData,
  GloveboxError,
  type GloveboxErrorOptions,
  type Json,
  type ReceiptStatement,
  receiptStatementSchema,
  statementMediaType,
} from '@glovebox/contract';
import { canonicalJson } from './canonical.ts';
import { sha256Of } from './digest.ts';
import { readEnvelope, signedBytes, type UnverifiedEnvelope } from './envelope.ts';
import { type PinnedKey, pinKey } from './keys.ts';
import { subjectOf } from './sign-receipt.ts';

export type Verification =
  | {
      ok: true;
      statement: ReceiptStatement;
      /** The pinned key that signed. */
      keyId: string;
      /** sha256 of the bytes that were given: the name of the receipt in the record of its run. */
      digest: Digest;
    }
  | { ok: false; error: ErrorData };

type Failure = Extract<Verification, { ok: false }>;

/**
 * Check a receipt against keys that the caller trusts; needs neither network nor store.
 *
 * Signatures come first, over the exact bytes of the payload; only then is it parsed, once, strictly. Each signature must
 * be by a pinned key and must hold: we write one, so whatever else is there was added by others. Nothing of a payload
 * that does not pass is shown.
 *
 * @param keys Ed25519 public keys, in PEM or parsed. With none, no receipt passes.
 * @returns the statement, or what is wrong: `RECEIPT_UNREADABLE` not an envelope; `RECEIPT_KEY_UNKNOWN` by a key that is not pinned;
 *   `RECEIPT_SIGNATURE` changed since it was signed; `RECEIPT_INVALID` signed, but not a receipt; `KEY_UNUSABLE` a pinned key
 *   is none.
 */
export function verifyReceipt(bytes: Uint8Array, options: { keys: readonly (string | KeyObject)[] }): Verification {
  let pinned: PinnedKey[];
  try {
    pinned = options.keys.map(pinKey);
  } catch (error) {
    if (error instanceof GloveboxError) return { ok: false, error: error.toData() };
    throw error;
  }
  const read = readEnvelope(bytes);
  if (!read.ok) return failure('RECEIPT_UNREADABLE', { message: `The file is not a receipt: ${read.reason}.` });
  const signed = checkSignatures(read.envelope, pinned);
  if (!signed.ok) return signed;
  const parsed = parseSigned(read.envelope);
  if (!parsed.ok) return parsed;
  return { ok: true, statement: parsed.statement, keyId: signed.keyId, digest: sha256Of(bytes) };
}

function checkSignatures(envelope: UnverifiedEnvelope, pinned: PinnedKey[]): { ok: true; keyId: string } | Failure {
  const message = signedBytes(envelope.unsafePayloadType, envelope.unsafePayload);
  let signer: string | undefined;
  for (const { unsafeKeyId, sig } of envelope.signatures) {
    const trusted = pinned.find(({ keyId }) => keyId === unsafeKeyId);
    if (trusted === undefined) {
      // Shown only where it can be a key id: the field is anyone's text.
      const named = /^[0-9a-f]{64}$/.test(unsafeKeyId) ? ` ${unsafeKeyId}` : '';
      return failure('RECEIPT_KEY_UNKNOWN', { message: `The receipt names a key${named} that is not pinned.` });
    }
    if (!verify(null, message, trusted.key, sig)) return failure('RECEIPT_SIGNATURE');
    signer ??= trusted.keyId;
  }
  // The schema of the envelope refuses an empty list; without a signature nothing is verified.
  return signer === undefined ? failure('RECEIPT_SIGNATURE') : { ok: true, keyId: signer };
}

function parseSigned({
  unsafePayloadType,
  unsafePayload,
}: UnverifiedEnvelope): { ok: true; statement: ReceiptStatement } | Failure {
  if (unsafePayloadType !== statementMediaType) return invalid('the payload is of another type');
  let value: Json;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(unsafePayload);
    value = JSON.parse(text) as Json;
    // One text for one statement: also keeps out repeated keys, which two readers may read in two ways.
    if (canonicalJson(value) !== text) return invalid('the payload is not canonical JSON');
  } catch {
    return invalid('the payload is not canonical JSON');
  }
  const checked = receiptStatementSchema.safeParse(value);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    const path = (issue?.path ?? []).map((step) => `/${String(step)}`).join('');
    return invalid(`${issue?.message ?? 'it does not fit the schema'} at "${path}"`, path);
  }
  const statement = checked.data;
  if (canonicalJson(statement.subject[0]) !== canonicalJson(subjectOf(statement.predicate))) {
    return invalid('its subject is not the attempt and bundle that it tells about', '/subject/0');
  }
  return { ok: true, statement };
}

const invalid = (what: string, path?: string): Failure =>
  failure('RECEIPT_INVALID', {
    message: `The receipt is signed, but ${what}.`,
    ...(path === undefined ? {} : { place: { path } }),
  });

function failure(code: ErrorData['code'], options: GloveboxErrorOptions = {}): Failure {
  return { ok: false, error: new GloveboxError(code, options).toData() };
}
