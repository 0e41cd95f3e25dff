import { generateKeyPairSync } from 'node:crypto';
import { GloveboxError } from '@glovebox/contract';
import { openInstance } from './instance.ts';
import { refreshKeyList } from './key-list.ts';
import { removeLeftovers, requirePrivateDirectory, writeAnew } from './private-file.ts';
import { keyPaths, openSigningKey, retiredKeyPath, retiredKeyText } from './signing-key.ts';

export interface KeyRotation {
  retiredKeyId: string;
  keyId: string;
  /** Of the new key. */
  publicKeyPem: string;
}

/**
 * Give an instance a new signing key. The old public key stays in `keys/retired/`, the old private one is gone; `keys/keys.json`
 * tells which is which, signed by the new one.
 *
 * A death at any step leaves the old key or the new one, whole, and the next openInstance completes the rest: the old key
 * is named as retired first, and is retired once the private key is another; that is one rename.
 *
 * Only for the owner of the data directory, while nothing else signs: who has the old key open goes on signing with it, and
 * of two rotations at once the key of one is lost.
 *
 * @param nowMs when the old key is retired, in ms since the epoch.
 * @throws GloveboxError as openInstance does.
 */
export async function rotateSigningKey(dataDir: string, nowMs: number = Date.now()): Promise<KeyRotation> {
  const { instance, signer, publicKeyPem } = await openInstance(dataDir);
  const paths = keyPaths(dataDir);
  // Of a rotation that died: a private key that never signed.
  removeLeftovers(paths.privateKey);
  requirePrivateDirectory(paths.retired, 'KEY_UNUSABLE');
  const retiredText = retiredKeyText(publicKeyPem, new Date(nowMs).toISOString());
  writeAnew(retiredKeyPath(paths, signer.keyId), retiredText, 'KEY_UNUSABLE');
  removeLeftovers(retiredKeyPath(paths, signer.keyId));
  const pair = generateKeyPairSync('ed25519');
  writeAnew(paths.privateKey, pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, 'KEY_UNUSABLE');
  const key = openSigningKey(paths);
  if (key.keyId === signer.keyId)
    throw new GloveboxError('INTERNAL', { message: 'the signing key is still the old one' });
  await refreshKeyList(paths, instance, key);
  return { retiredKeyId: signer.keyId, keyId: key.keyId, publicKeyPem: key.publicKeyPem };
}
