import { join } from 'node:path';
import { GloveboxError, type InstanceId, idPatterns, newInstanceId } from '@glovebox/contract';
import { canonicalJson } from './canonical.ts';
import { refreshKeyList, retiredKeys, type TrustedKeyTexts } from './key-list.ts';
import { pinKey } from './keys.ts';
import {
  checkPrivateDirectory,
  readPrivateFile,
  removeLeftovers,
  requirePrivateDirectory,
  writeOnce,
} from './private-file.ts';
import type { StatementSigner } from './sign-statement.ts';
import { createSigningKey, keyPaths, openSigningKey, readCurrentKey } from './signing-key.ts';

const fileSchema = 'glovebox.instance/1';

export interface Instance {
  instance: InstanceId;
  signer: StatementSigner;
  publicKeyPem: string;
  /** Of the keys that it signed with before, oldest first. */
  retiredKeyPems: readonly string[];
}

/**
 * Who this installation is: its id, and the key that signs its receipts. On first use the data directory and both are
 * made; several processes that do so at once agree on one.
 *
 * The key comes before the instance file, so that an instance without a key was never left by a crash: its key was lost,
 * and that is told, not mended.
 *
 * @throws GloveboxError `DATA_DIR_UNUSABLE`, `KEY_UNUSABLE` for wrong owners, modes, links and contents; `DISK_FULL`.
 */
export async function openInstance(dataDir: string): Promise<Instance> {
  requirePrivateDirectory(dataDir, 'DATA_DIR_UNUSABLE');
  const path = join(dataDir, 'instance.json');
  const keys = keyPaths(dataDir);
  let file = readPrivateFile(path, 'DATA_DIR_UNUSABLE', false);
  if (file === undefined) {
    createSigningKey(keys);
    const created = { schema: fileSchema, id: newInstanceId(), createdAt: new Date().toISOString() };
    writeOnce(path, `${canonicalJson(created)}\n`, 'DATA_DIR_UNUSABLE');
    file = readPrivateFile(path, 'DATA_DIR_UNUSABLE', false);
    removeLeftovers(path);
  } else if (file.links > 1) removeLeftovers(path);
  const instance = parseInstance(file?.text ?? '', path);
  const key = openSigningKey(keys);
  return {
    instance,
    publicKeyPem: key.publicKeyPem,
    retiredKeyPems: await refreshKeyList(keys, instance, key),
    signer: { instance, keyId: key.keyId, sign: (payload) => key.sign(payload) },
  };
}

/**
 * The public key of the instance in a data directory, for verifying what it has signed. Makes nothing.
 *
 * @throws GloveboxError `KEY_UNUSABLE` where there is none, or where somebody else could have put it there.
 */
export function readPublicKey(dataDir: string): string {
  const paths = keyPaths(dataDir);
  for (const path of [dataDir, paths.directory]) checkPrivateDirectory(path, 'KEY_UNUSABLE');
  const pem = readCurrentKey(paths);
  if (pem !== undefined) return pem;
  throw new GloveboxError('KEY_UNUSABLE', {
    message: `There is no ${paths.publicKey}.`,
    place: { file: paths.publicKey },
  });
}

/**
 * The keys of the instance in a data directory, as whoever pins its key list has them. Makes nothing.
 *
 * @throws GloveboxError `KEY_UNUSABLE` as readPublicKey.
 */
export function readOwnKeys(dataDir: string): TrustedKeyTexts {
  const current = readPublicKey(dataDir);
  const retired = retiredKeys(keyPaths(dataDir), pinKey(current).keyId);
  return { keys: [current], retired: retired.map(({ pem }) => pem) };
}

function parseInstance(text: string, path: string): InstanceId {
  try {
    const { schema, id, createdAt, ...others } = JSON.parse(text) as Record<string, unknown>;
    const isKnown = schema === fileSchema && typeof createdAt === 'string' && Object.keys(others).length === 0;
    if (!isKnown || typeof id !== 'string' || !idPatterns.instance.test(id))
      throw new TypeError('unknown or missing fields');
    return id as InstanceId;
  } catch (cause) {
    throw new GloveboxError('DATA_DIR_UNUSABLE', {
      message: `${path} is not an instance file.`,
      hint: 'Restore it from a backup.',
      place: { file: path },
      cause,
    });
  }
}
