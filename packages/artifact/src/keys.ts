import { createHash, createPublicKey, KeyObject } from 'node:crypto';
import { GloveboxError } from '@glovebox/contract';

/** A public key that someone has decided to trust. */
export interface PinnedKey {
  /** sha256 of the key's SubjectPublicKeyInfo in DER, in hex. */
  keyId: string;
  key: KeyObject;
}

const hint = 'Pass an Ed25519 public key in PEM, as in keys/signing.pub.pem.';

/** @throws GloveboxError `KEY_UNUSABLE` when it is not an Ed25519 public key. */
export function pinKey(key: string | KeyObject): PinnedKey {
  const parsed = key instanceof KeyObject ? key : readPem(key);
  if (parsed.type !== 'public' || parsed.asymmetricKeyType !== 'ed25519') {
    throw new GloveboxError('KEY_UNUSABLE', { message: 'The key is not an Ed25519 public key.', hint });
  }
  return { keyId: keyIdOf(parsed.export({ type: 'spki', format: 'der' })), key: parsed };
}

export const keyIdOf = (spkiDer: Uint8Array): string => createHash('sha256').update(spkiDer).digest('hex');

function readPem(pem: string): KeyObject {
  // A public key could be derived from a private one; taking it would teach people to hand theirs around.
  if (pem.includes('PRIVATE KEY')) {
    throw new GloveboxError('KEY_UNUSABLE', {
      message: 'This is a private key; verifying takes the public one.',
      hint,
    });
  }
  try {
    return createPublicKey({ key: pem, format: 'pem' });
  } catch (cause) {
    throw new GloveboxError('KEY_UNUSABLE', { message: 'The key is not a public key in PEM.', hint, cause });
  }
}
