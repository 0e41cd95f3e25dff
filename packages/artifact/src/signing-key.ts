import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { GloveboxError } from '@glovebox/contract';
import { keyIdOf } from './keys.ts';
import { readPrivateFile, removeLeftovers, requirePrivateDirectory, writeAnew, writeOnce } from './private-file.ts';

const signAsync = promisify<null, Uint8Array, KeyObject, Buffer>(sign);

/** What comes before the 32 bytes of an Ed25519 key in its DER form (RFC 8410). */
const privatePrefix = Buffer.from('302e020100300506032b657004220420', 'hex');
const publicPrefix = Buffer.from('302a300506032b6570032100', 'hex');
const keyBytes = 32;

export interface SigningKey {
  keyId: string;
  publicKeyPem: string;
  sign(payload: Uint8Array): Promise<Uint8Array>;
}

interface Paths {
  directory: string;
  privateKey: string;
  publicKey: string;
}

export function keyPaths(dataDir: string): Paths {
  const directory = join(dataDir, 'keys');
  return { directory, privateKey: join(directory, 'signing.pem'), publicKey: join(directory, 'signing.pub.pem') };
}

/** Make the key where there is none. Several may do so at once; they end up with one key. */
export function createSigningKey({ directory, privateKey }: Paths): void {
  requirePrivateDirectory(directory, 'KEY_UNUSABLE');
  if (readPrivateFile(privateKey, 'KEY_UNUSABLE', true) === undefined) {
    const pair = generateKeyPairSync('ed25519');
    writeOnce(privateKey, pair.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, 'KEY_UNUSABLE');
  }
  removeLeftovers(privateKey);
}

/**
 * The key of this instance. What the files hold is checked by their bytes; OpenSSL gets to see the private key when
 * something is signed, which many commands never do.
 *
 * @throws GloveboxError `KEY_UNUSABLE`.
 */
export function openSigningKey(paths: Paths): SigningKey {
  requirePrivateDirectory(paths.directory, 'KEY_UNUSABLE');
  const secret = readPrivateFile(paths.privateKey, 'KEY_UNUSABLE', true);
  if (secret === undefined) {
    // A new key under the old instance would make every receipt so far look forged to those who pin the new one.
    throw new GloveboxError('KEY_UNUSABLE', {
      message: `${paths.privateKey} is gone.`,
      hint: 'Restore it from a backup, or move the data directory away to begin a new instance.',
      place: { file: paths.privateKey },
    });
  }
  if (derOf(secret.text, 'PRIVATE KEY', privatePrefix) === undefined) damaged(paths.privateKey);
  let publicKeyPem = readPrivateFile(paths.publicKey, 'KEY_UNUSABLE', false)?.text;
  if (publicKeyPem === undefined) {
    publicKeyPem = derivePublic(secret.text, paths.privateKey).export({ type: 'spki', format: 'pem' }) as string;
    writeAnew(paths.publicKey, publicKeyPem, 'KEY_UNUSABLE');
    removeLeftovers(paths.publicKey);
  }
  const publicDer = derOf(publicKeyPem, 'PUBLIC KEY', publicPrefix) ?? damaged(paths.publicKey);
  let loaded: KeyObject | undefined;
  return {
    keyId: keyIdOf(publicDer),
    publicKeyPem,
    async sign(payload) {
      if (loaded === undefined) {
        const key = loadPrivate(secret.text, paths.privateKey);
        const derived = createPublicKey(key).export({ type: 'spki', format: 'der' });
        // The receipt would name a key that cannot verify it.
        if (!derived.equals(publicDer)) damaged(paths.publicKey, 'does not belong to the private key');
        loaded = key;
      }
      return signAsync(null, payload, loaded);
    },
  };
}

function loadPrivate(pem: string, path: string): KeyObject {
  try {
    return createPrivateKey({ key: pem, format: 'pem' });
  } catch {
    // Without the cause: its text is about the contents.
    return damaged(path);
  }
}

const derivePublic = (pem: string, path: string): KeyObject => createPublicKey(loadPrivate(pem, path));

/** The DER inside a PEM, if it is an Ed25519 key of that kind and nothing else. */
function derOf(pem: string, label: string, prefix: Buffer): Buffer | undefined {
  const match = new RegExp(`^-----BEGIN ${label}-----\\n([A-Za-z0-9+/=\\n]{1,200})\\n-----END ${label}-----\\n?$`).exec(
    pem,
  );
  const der = Buffer.from(match?.[1] ?? '', 'base64');
  const fits = der.length === prefix.length + keyBytes && der.subarray(0, prefix.length).equals(prefix);
  return fits ? der : undefined;
}

function damaged(path: string, what = 'is not an Ed25519 key in PEM'): never {
  throw new GloveboxError('KEY_UNUSABLE', {
    message: `${path} ${what}.`,
    hint: 'Restore it from a backup.',
    place: { file: path },
  });
}
