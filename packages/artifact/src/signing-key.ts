import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { existsSync } from 'node:fs';
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

export interface KeyPaths {
  directory: string;
  privateKey: string;
  publicKey: string;
  /** Directory of the public keys that once were current. */
  retired: string;
  /** The signed list of both; there once a key was retired. */
  keyList: string;
}

export function keyPaths(dataDir: string): KeyPaths {
  const directory = join(dataDir, 'keys');
  return {
    directory,
    privateKey: join(directory, 'signing.pem'),
    publicKey: join(directory, 'signing.pub.pem'),
    retired: join(directory, 'retired'),
    keyList: join(directory, 'keys.json'),
  };
}

/** Make the key where there is none. Several may do so at once; they end up with one key. */
export function createSigningKey({ directory, privateKey }: KeyPaths): void {
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
export function openSigningKey(paths: KeyPaths): SigningKey {
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
  if (publicKeyPem === undefined || isNamedRetired(paths, publicKeyPem)) {
    const derived = derivePublic(secret.text, paths.privateKey);
    if (derived !== publicKeyPem) {
      writeAnew(paths.publicKey, derived, 'KEY_UNUSABLE');
      removeLeftovers(paths.publicKey);
    }
    publicKeyPem = derived;
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

const derivePublic = (pem: string, path: string): string =>
  createPublicKey(loadPrivate(pem, path)).export({ type: 'spki', format: 'pem' }) as string;

/**
 * The public key of a data directory, without making anything.
 *
 * @returns undefined where there is none. @throws GloveboxError `KEY_UNUSABLE`.
 */
export function readCurrentKey(paths: KeyPaths): string | undefined {
  const pem = readPrivateFile(paths.publicKey, 'KEY_UNUSABLE', false)?.text;
  if (pem === undefined || !isNamedRetired(paths, pem)) return pem;
  const secret = readPrivateFile(paths.privateKey, 'KEY_UNUSABLE', true);
  return secret === undefined ? pem : derivePublic(secret.text, paths.privateKey);
}

/**
 * Whether a rotation has begun to retire this key. It may have died before the private key was replaced, or after: then the
 * private key alone tells which is current.
 */
function isNamedRetired(paths: KeyPaths, publicKeyPem: string): boolean {
  const der = derOf(publicKeyPem, 'PUBLIC KEY', publicPrefix);
  return der !== undefined && existsSync(retiredKeyPath(paths, keyIdOf(der)));
}

export const retiredKeyName = /^([0-9a-f]{64})\.pub\.pem$/;

export const retiredKeyPath = (paths: KeyPaths, keyId: string): string => join(paths.retired, `${keyId}.pub.pem`);

/** A PEM may have text before it (RFC 7468): tools read the key as it is. */
export const retiredKeyText = (pem: string, retiredAt: string): string => `Retired ${retiredAt}\n${pem}`;

/** @throws GloveboxError `KEY_UNUSABLE` when the file is damaged, or holds another key than its name says. */
export function readRetiredKey(paths: KeyPaths, keyId: string): { keyId: string; pem: string; retiredAt: string } {
  const path = retiredKeyPath(paths, keyId);
  const text = readPrivateFile(path, 'KEY_UNUSABLE', false)?.text ?? '';
  const retiredAt = /^Retired (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)\n/.exec(text);
  const pem = text.slice(retiredAt?.[0].length ?? 0);
  const der = derOf(pem, 'PUBLIC KEY', publicPrefix);
  if (retiredAt?.[1] === undefined || der === undefined || keyIdOf(der) !== keyId)
    damaged(path, 'is not a retired key');
  return { keyId, pem, retiredAt: retiredAt[1] };
}

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
