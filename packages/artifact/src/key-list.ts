import { existsSync, readdirSync } from 'node:fs';
import {
  GloveboxError,
  type InstanceId,
  type Json,
  type KeyList,
  keyListPredicateType,
  keyListSchema,
  type Statement,
  statementSchema,
  statementType,
} from '@glovebox/contract';
import { canonicalJson } from './canonical.ts';
import { checkStatement, pinKeys, type StatementKind } from './check-statement.ts';
import { readEnvelope } from './envelope.ts';
import { pinKey } from './keys.ts';
import { readPrivateFile, removeLeftovers, writeAnew } from './private-file.ts';
import { signStatement } from './sign-statement.ts';
import { type KeyPaths, readRetiredKey, retiredKeyName, type SigningKey } from './signing-key.ts';

/** What to trust, as PEM: fits TrustedKeys. */
export interface TrustedKeyTexts {
  keys: string[];
  retired: string[];
}

/** Keys that a list names; older ones stay in their files, and count as unknown. */
const maxRetired = 100;

/** An Ed25519 public key in PEM takes a tenth. */
const maxPemLength = 1024;

/**
 * The keys in a file that somebody pins: an Ed25519 public key in PEM, or the key list of an instance.
 *
 * The list vouches for itself by the key that it calls current, so it is as good as the way that it came by.
 *
 * @throws GloveboxError `KEY_UNUSABLE` when it is neither.
 */
export function readTrustedKeys(text: string): TrustedKeyTexts {
  if (!text.trimStart().startsWith('{')) return { keys: [pinKey(text) && text], retired: [] };
  const bytes = Buffer.from(text);
  const checked = checkStatement(bytes, pinKeys({ keys: [unsafeCurrentKey(bytes)] }), keyListKind);
  if (!checked.ok) throw notAKeyList(checked.error.message);
  const { current, retired } = checked.statement.list;
  return { keys: [current.pem], retired: retired.map(({ pem }) => pem) };
}

interface KeyListStatement {
  subject: Statement['subject'];
  list: KeyList;
}

const keyListKind: StatementKind<KeyListStatement> = {
  what: 'key list',
  codes: {
    unreadable: 'KEY_UNUSABLE',
    keyUnknown: 'KEY_UNUSABLE',
    signature: 'KEY_UNUSABLE',
    invalid: 'KEY_UNUSABLE',
  },
  schema: {
    safeParse(value) {
      const statement = statementSchema.safeParse(value);
      if (!statement.success) return statement;
      if (statement.data.predicateType !== keyListPredicateType) {
        return { success: false, error: { issues: [{ message: 'it is of another type', path: ['predicateType'] }] } };
      }
      const list = keyListSchema.safeParse(statement.data.predicate);
      return list.success ? { success: true, data: { subject: statement.data.subject, list: list.data } } : list;
    },
  },
  fault({ subject, list }) {
    const ids = [list.current, ...list.retired].map(({ keyId }) => keyId);
    if (canonicalJson(subject[0]) !== canonicalJson(subjectOf(list))) return { what: 'it is about another instance' };
    if (new Set(ids).size !== ids.length) return { what: 'a key is named twice' };
    const isWrong = [list.current, ...list.retired].some(({ keyId, pem }) => pinKey(pem).keyId !== keyId);
    return isWrong ? { what: 'a key is not the one of its id' } : undefined;
  },
};

/** The key that signed, by the list's own word: the first look at a payload that nobody has vouched for. */
function unsafeCurrentKey(bytes: Uint8Array): string {
  const read = readEnvelope(bytes);
  if (!read.ok) throw notAKeyList(`This is no key list: ${read.reason}.`);
  try {
    const statement = JSON.parse(read.envelope.unsafePayload.toString('utf8')) as { predicate: KeyList };
    const pem: unknown = statement.predicate.current.pem;
    if (typeof pem === 'string' && pem.length <= maxPemLength) return pem;
  } catch {
    // Told below.
  }
  throw notAKeyList('This is no key list: it names no current key.');
}

const notAKeyList = (message: string): GloveboxError =>
  new GloveboxError('KEY_UNUSABLE', {
    message,
    hint: 'Pass an Ed25519 public key in PEM, or keys/keys.json of an instance.',
  });

/**
 * Write the key list of an instance whose key was rotated, where it is not there or not what the keys on disk say: also
 * what a rotation that died left to do. An instance with no retired key has no list.
 *
 * @returns the retired keys in PEM, oldest first.
 * @throws GloveboxError `KEY_UNUSABLE`, `DISK_FULL`.
 */
export async function refreshKeyList(paths: KeyPaths, instance: InstanceId, key: SigningKey): Promise<string[]> {
  const retired = retiredKeys(paths, key.keyId);
  const pems = retired.map(({ pem }) => pem);
  if (retired.length === 0) return pems;
  const list: KeyList = {
    schema: 'glovebox.keys/1',
    instance,
    current: { keyId: key.keyId, pem: key.publicKeyPem },
    retired,
  };
  const written = readPrivateFile(paths.keyList, 'KEY_UNUSABLE', false)?.text;
  if (written !== undefined && says(written, list)) return pems;
  const statement: Statement = {
    _type: statementType,
    subject: [subjectOf(list)],
    predicateType: keyListPredicateType,
    predicate: list as unknown as Json,
  };
  const { envelopeText } = await signStatement(statement, { instance, keyId: key.keyId, sign: key.sign });
  writeAnew(paths.keyList, `${envelopeText}\n`, 'KEY_UNUSABLE');
  removeLeftovers(paths.keyList);
  return pems;
}

/** Oldest first. A rotation names the old key as retired before it replaces it: until then, it is the current one. */
export function retiredKeys(paths: KeyPaths, currentKeyId: string): KeyList['retired'] {
  if (!existsSync(paths.retired)) return [];
  return readdirSync(paths.retired)
    .flatMap((name) => retiredKeyName.exec(name)?.[1] ?? [])
    .filter((keyId) => keyId !== currentKeyId)
    .map((keyId) => readRetiredKey(paths, keyId))
    .sort((a, b) => (a.retiredAt < b.retiredAt ? -1 : a.retiredAt > b.retiredAt ? 1 : a.keyId < b.keyId ? -1 : 1))
    .slice(-maxRetired);
}

function says(text: string, list: KeyList): boolean {
  const read = readEnvelope(Buffer.from(text));
  if (!read.ok || read.envelope.signatures[0]?.unsafeKeyId !== list.current.keyId) return false;
  try {
    const { predicate } = JSON.parse(read.envelope.unsafePayload.toString('utf8')) as { predicate: unknown };
    return canonicalJson(predicate) === canonicalJson(list);
  } catch {
    return false;
  }
}

const subjectOf = ({ instance, current }: KeyList): Statement['subject'][number] => ({
  name: `instance/${instance}`,
  digest: { sha256: current.keyId },
});
