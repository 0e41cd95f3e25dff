import {
  type Digest,
  GloveboxError,
  type InstanceId,
  type Json,
  type Statement,
  statementMediaType,
  statementSchema,
} from '@glovebox/contract';
import { canonicalJson, wellFormed } from './canonical.ts';
import { sha256Of } from './digest.ts';
import { encodeEnvelope, maxEnvelopeBytes, signedBytes } from './envelope.ts';

/** Signs with the key of an instance. */
export interface StatementSigner {
  readonly instance: InstanceId;
  /** sha256 of the public key's SubjectPublicKeyInfo in DER, in hex. */
  readonly keyId: string;
  /** @returns an Ed25519 signature over the bytes. */
  sign(payload: Uint8Array): Promise<Uint8Array>;
}

export interface SignedStatement {
  /** The envelope as canonical JSON. */
  envelopeText: string;
  /** sha256 of its bytes. */
  digest: Digest;
}

/**
 * Sign an in-toto statement: canonical JSON in a DSSE envelope.
 *
 * Texts that came from a cell or an author may hold halves of surrogate pairs, which no UTF-8 can carry; they become
 * U+FFFD, so that nobody can keep a statement about what is theirs from being written.
 *
 * @param schema what the statement has to fit once its texts are whole; what does not verify is not signed.
 * @throws GloveboxError `INTERNAL` where it does not fit, or is larger than a reader takes.
 */
export async function signStatement(
  statement: Statement,
  signer: StatementSigner,
  schema: {
    safeParse(value: unknown): { success: true; data: unknown } | { success: false; error: unknown };
  } = statementSchema,
): Promise<SignedStatement> {
  const checked = schema.safeParse(wellFormed(statement as Json));
  if (!checked.success) {
    throw new GloveboxError('INTERNAL', {
      message: `the statement ${statement.predicateType} is not valid`,
      cause: checked.error,
    });
  }
  const payload = Buffer.from(canonicalJson(checked.data));
  const sig = await signer.sign(signedBytes(statementMediaType, payload));
  const envelopeText = canonicalJson(encodeEnvelope(statementMediaType, payload, [{ keyId: signer.keyId, sig }]));
  if (envelopeText.length > maxEnvelopeBytes) {
    throw new GloveboxError('INTERNAL', {
      message: `the statement ${statement.predicateType} has ${envelopeText.length} bytes; at most ${maxEnvelopeBytes}`,
    });
  }
  return { envelopeText, digest: sha256Of(envelopeText) };
}
