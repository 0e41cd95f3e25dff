import { type KeyObject, verify } from 'node:crypto';
import {
  type Digest,
  type ErrorCode,
  type ErrorData,
  GloveboxError,
  type GloveboxErrorOptions,
  type Json,
  jsonTextDepth,
  statementMediaType,
} from '@glovebox/contract';
import { canonicalJson } from './canonical.ts';
import { sha256Of } from './digest.ts';
import { readEnvelope, signedBytes, type UnverifiedEnvelope } from './envelope.ts';
import { type PinnedKey, pinKey } from './keys.ts';

const maxPayloadDepth = 64;

/** Keys that a caller has decided about: Ed25519 public keys, in PEM or parsed. */
export interface TrustedKeys {
  /** Whose signature counts. With none, nothing passes. */
  keys: readonly (string | KeyObject)[];
  /** Whose signature once counted: told as `KEY_RETIRED`, never as good. One that is among `keys` too counts. */
  retired?: readonly (string | KeyObject)[];
}

/** The same, parsed once for many statements. */
export interface PinnedKeys {
  keys: readonly PinnedKey[];
  retired: readonly PinnedKey[];
}

/** @throws GloveboxError `KEY_UNUSABLE` when one is not an Ed25519 public key. */
export function pinKeys({ keys, retired = [] }: TrustedKeys): PinnedKeys {
  return { keys: keys.map(pinKey), retired: retired.map(pinKey) };
}

/** One kind of statement: what it is called, what is told when it fails, and what it must look like. */
export interface StatementKind<Statement> {
  what: string;
  codes: { unreadable: ErrorCode; keyUnknown: ErrorCode; signature: ErrorCode; invalid: ErrorCode };
  schema: { safeParse(value: unknown): Parsed<Statement> };
  /** What is wrong with one that fits the schema. */
  fault(statement: Statement): { what: string; path?: string } | undefined;
}

type Parsed<T> =
  | { success: true; data: T }
  | { success: false; error: { issues: readonly { message: string; path: readonly PropertyKey[] }[] } };

export type CheckedStatement<Statement> =
  | {
      ok: true;
      statement: Statement;
      /** The pinned key that signed. */
      keyId: string;
      /** sha256 of the bytes that were given. */
      digest: Digest;
    }
  | Failure;

interface Failure {
  ok: false;
  error: ErrorData;
}

/**
 * Check a DSSE envelope with an in-toto statement in it against keys that the caller trusts; needs neither network nor
 * store.
 *
 * Signatures come first, over the exact bytes of the payload; only then is it parsed, once, strictly. Each signature must
 * be by a pinned key and must hold: we write one, so whatever else is there was added by others. Nothing of a payload
 * that does not pass is shown.
 */
export function checkStatement<Statement>(
  bytes: Uint8Array,
  pinned: PinnedKeys,
  kind: StatementKind<Statement>,
): CheckedStatement<Statement> {
  const { what, codes } = kind;
  const read = readEnvelope(bytes);
  if (!read.ok) return failure(codes.unreadable, { message: `This is no ${what}: ${read.reason}.` });
  const signed = checkSignatures(read.envelope, pinned, kind);
  if (!signed.ok) return signed;
  const parsed = parseSigned(read.envelope, kind);
  if (!parsed.ok) return parsed;
  return { ok: true, statement: parsed.statement, keyId: signed.keyId, digest: sha256Of(bytes) };
}

function checkSignatures(
  envelope: UnverifiedEnvelope,
  pinned: PinnedKeys,
  { what, codes }: Pick<StatementKind<unknown>, 'what' | 'codes'>,
): { ok: true; keyId: string } | Failure {
  const message = signedBytes(envelope.unsafePayloadType, envelope.unsafePayload);
  const byId = (keys: readonly PinnedKey[], id: string): PinnedKey | undefined =>
    keys.find(({ keyId }) => keyId === id);
  let signer: string | undefined;
  let retired: string | undefined;
  for (const { unsafeKeyId, sig } of envelope.signatures) {
    const trusted = byId(pinned.keys, unsafeKeyId);
    const known = trusted ?? byId(pinned.retired, unsafeKeyId);
    if (known === undefined) {
      // Shown only where it can be a key id: the field is anyone's text.
      const named = /^[0-9a-f]{64}$/.test(unsafeKeyId) ? ` ${unsafeKeyId}` : '';
      return failure(codes.keyUnknown, { message: `The ${what} names a key${named} that is not pinned.` });
    }
    if (!verify(null, message, known.key, sig)) return failure(codes.signature);
    if (trusted === undefined) retired ??= known.keyId;
    else signer ??= trusted.keyId;
  }
  if (retired !== undefined) {
    return failure('KEY_RETIRED', {
      message: `The ${what} is signed by key ${retired}, which the instance has retired.`,
    });
  }
  // The schema of the envelope refuses an empty list; without a signature nothing is verified.
  return signer === undefined ? failure(codes.signature) : { ok: true, keyId: signer };
}

function parseSigned<Statement>(
  { unsafePayloadType, unsafePayload }: UnverifiedEnvelope,
  kind: StatementKind<Statement>,
): { ok: true; statement: Statement } | Failure {
  const invalid = (fault: string, path?: string): Failure =>
    failure(kind.codes.invalid, {
      message: `The ${kind.what} is signed, but ${fault}.`,
      ...(path === undefined ? {} : { place: { path } }),
    });
  if (unsafePayloadType !== statementMediaType) return invalid('the payload is of another type');
  let value: Json;
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(unsafePayload);
    // Schemas recurse: a text that nests deeper than any of ours would overflow the stack.
    if (jsonTextDepth(text) > maxPayloadDepth) return invalid('the payload nests too deep');
    value = JSON.parse(text) as Json;
    // One text for one statement: also keeps out repeated keys, which two readers may read in two ways.
    if (canonicalJson(value) !== text) return invalid('the payload is not canonical JSON');
  } catch {
    return invalid('the payload is not canonical JSON');
  }
  const checked = kind.schema.safeParse(value);
  if (!checked.success) {
    const [issue] = checked.error.issues;
    const path = (issue?.path ?? []).map((step) => `/${String(step)}`).join('');
    return invalid(`${issue?.message ?? 'it does not fit the schema'} at "${path}"`, path);
  }
  const fault = kind.fault(checked.data);
  return fault === undefined ? { ok: true, statement: checked.data } : invalid(fault.what, fault.path);
}

export function failure(code: ErrorCode, options: GloveboxErrorOptions = {}): Failure {
  return { ok: false, error: new GloveboxError(code, options).toData() };
}
