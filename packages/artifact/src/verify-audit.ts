import {
  type AuditCheckpoint,
  type AuditCheckpointPredicate,
  type AuditEntry,
  auditCheckpointPredicateSchema,
  auditCheckpointPredicateType,
  auditCheckpointSchema,
  auditEntrySchema,
  type ErrorData,
  GloveboxError,
  type Statement,
  statementSchema,
  statementType,
} from '@glovebox/contract';
import { auditChainStart, auditEntryHash } from './audit.ts';
import { canonicalJson } from './canonical.ts';
import { checkStatement, failure, pinKeys, type StatementKind, type TrustedKeys } from './check-statement.ts';
import { type StatementSigner, signStatement } from './sign-statement.ts';

/**
 * Sign that the chain had this hash at this number.
 *
 * @param at milliseconds since the epoch.
 */
export async function signCheckpoint(
  head: { seq: number; hash: string },
  at: number,
  signer: StatementSigner,
): Promise<AuditCheckpoint> {
  const predicate: AuditCheckpointPredicate = {
    instance: signer.instance,
    seq: head.seq,
    hash: head.hash,
    at: new Date(at).toISOString(),
  };
  const { envelopeText } = await signStatement(
    { _type: statementType, subject: [subjectOf(predicate)], predicateType: auditCheckpointPredicateType, predicate },
    signer,
  );
  return { seq: head.seq, hash: head.hash, envelopeText };
}

export type AuditVerification =
  | {
      ok: true;
      /** Number of the last entry; 0 for an empty chain. */
      entries: number;
      /** Its hash; null for an empty chain. */
      head: string | null;
      /** Number of the last entry that a signature covers; those after it could be rewritten unseen. 0: none is. */
      signedUpTo: number;
      /** The pinned key that signed so far; null where none has. */
      keyId: string | null;
    }
  | { ok: false; error: ErrorData };

/**
 * Check an audit chain, and the checkpoints that were signed over it.
 *
 * A checkpoint by a retired key counts where a later one by a pinned key vouches for the same chain.
 *
 * @param unsafeEntries in order of their numbers, as anyone may have written them.
 * @param unsafeCheckpoints in any order.
 * @param from the entry before the first of these, where it is not the beginning of the chain: what is before it, and the
 *   checkpoints over that, are not looked at.
 * @returns what holds; or `AUDIT_BROKEN`, whose `details.seq` is the number that should stand at `place`;
 *   `ATTESTATION_KEY_UNKNOWN` and `KEY_RETIRED` for the key of a checkpoint; `KEY_UNUSABLE`.
 */
export async function verifyAudit(
  unsafeEntries: Iterable<unknown> | AsyncIterable<unknown>,
  unsafeCheckpoints: readonly unknown[],
  trusted: TrustedKeys,
  from: { seq: number; hash: string } = { seq: 0, hash: auditChainStart },
): Promise<AuditVerification> {
  const checkpoints = readCheckpoints(unsafeCheckpoints, trusted);
  if (!checkpoints.ok) return checkpoints;
  const awaited = new Map([...checkpoints.bySeq].filter(([at]) => at > from.seq));
  let { seq, hash: previous } = from;
  let signedUpTo = 0;
  for await (const unsafeEntry of unsafeEntries) {
    seq++;
    const entry = readEntry(unsafeEntry);
    if (entry === undefined) return broken(seq, 'is not an audit entry');
    if (entry.seq !== seq) return broken(seq, `has number ${entry.seq}`);
    if (entry.previous !== previous) return broken(seq, 'does not name the hash of the entry before it');
    if (hashOf(entry) !== entry.hash) return broken(seq, 'does not have the hash that it names');
    previous = entry.hash;
    for (const checkpoint of awaited.get(seq) ?? []) {
      if (checkpoint.hash !== previous) return broken(seq, 'is not the one that was signed');
      signedUpTo = seq;
    }
    awaited.delete(seq);
  }
  const [lost] = [...awaited.keys()].sort((a, b) => a - b);
  if (lost !== undefined) return broken(Math.min(lost, seq + 1), 'is missing: a later one was signed');
  return {
    ok: true,
    entries: seq,
    head: seq === 0 ? null : previous,
    signedUpTo,
    keyId: signedUpTo === 0 ? null : checkpoints.keyId,
  };
}

function readEntry(unsafeEntry: unknown): AuditEntry | undefined {
  try {
    const entry = auditEntrySchema.safeParse(unsafeEntry);
    return entry.success ? entry.data : undefined;
  } catch {
    // Details that nest without end overflow the stack.
    return undefined;
  }
}

function readCheckpoints(
  unsafeCheckpoints: readonly unknown[],
  trusted: TrustedKeys,
):
  | { ok: true; bySeq: Map<number, AuditCheckpointPredicate[]>; keyId: string | null }
  | { ok: false; error: ErrorData } {
  const bySeq = new Map<number, AuditCheckpointPredicate[]>();
  let lastPinned = 0;
  let keyId: string | null = null;
  let retired: { seq: number; error: ErrorData } | undefined;
  let instance: string | undefined;
  try {
    const pinned = pinKeys(trusted);
    const known = { keys: [...pinned.keys, ...pinned.retired], retired: [] };
    for (const [i, unsafe] of unsafeCheckpoints.entries()) {
      const row = auditCheckpointSchema.safeParse(unsafe);
      if (!row.success) return brokenCheckpoint(i, 'is none');
      const bytes = Buffer.from(row.data.envelopeText);
      const checked = checkStatement(bytes, known, checkpointKind);
      if (!checked.ok)
        return checked.error.code === 'AUDIT_BROKEN' ? brokenCheckpoint(i, checked.error.message) : checked;
      const { predicate } = checked.statement;
      instance ??= predicate.instance;
      if (predicate.instance !== instance) return brokenCheckpoint(i, 'is of another instance');
      if (predicate.seq !== row.data.seq || predicate.hash !== row.data.hash) {
        return brokenCheckpoint(i, 'is not what was signed');
      }
      const byPinned = checkStatement(bytes, pinned, checkpointKind);
      if (byPinned.ok) {
        if (predicate.seq >= lastPinned) keyId = byPinned.keyId;
        lastPinned = Math.max(lastPinned, predicate.seq);
      } else if (retired === undefined || predicate.seq > retired.seq)
        retired = { seq: predicate.seq, error: byPinned.error };
      bySeq.set(predicate.seq, [...(bySeq.get(predicate.seq) ?? []), predicate]);
    }
  } catch (error) {
    if (GloveboxError.is(error, 'KEY_UNUSABLE')) return { ok: false, error: error.toData() };
    throw error;
  }
  if (retired !== undefined && retired.seq > lastPinned) return { ok: false, error: retired.error };
  return { ok: true, bySeq, keyId };
}

interface Checkpoint {
  subject: Statement['subject'];
  predicate: AuditCheckpointPredicate;
}

const checkpointKind: StatementKind<Checkpoint> = {
  what: 'checkpoint',
  codes: {
    unreadable: 'AUDIT_BROKEN',
    keyUnknown: 'ATTESTATION_KEY_UNKNOWN',
    signature: 'AUDIT_BROKEN',
    invalid: 'AUDIT_BROKEN',
  },
  schema: {
    safeParse(value) {
      const statement = statementSchema.safeParse(value);
      if (!statement.success) return statement;
      if (statement.data.predicateType !== auditCheckpointPredicateType) {
        return { success: false, error: { issues: [{ message: 'it is of another type', path: ['predicateType'] }] } };
      }
      const predicate = auditCheckpointPredicateSchema.safeParse(statement.data.predicate);
      return predicate.success
        ? { success: true, data: { subject: statement.data.subject, predicate: predicate.data } }
        : predicate;
    },
  },
  fault: ({ subject, predicate }) =>
    canonicalJson(subject[0]) === canonicalJson(subjectOf(predicate))
      ? undefined
      : { what: 'its subject is not the entry that it tells about', path: '/subject/0' },
};

const subjectOf = ({ seq, hash }: AuditCheckpointPredicate): Statement['subject'][number] => ({
  name: `audit/${seq}`,
  digest: { sha256: hash.slice('sha256:'.length) },
});

/** Undefined where there is none: an entry with half a surrogate pair was never hashed here. */
function hashOf(entry: Parameters<typeof auditEntryHash>[0]): string | undefined {
  try {
    return auditEntryHash(entry);
  } catch {
    return undefined;
  }
}

const broken = (seq: number, what: string): { ok: false; error: ErrorData } =>
  failure('AUDIT_BROKEN', {
    message: `Entry ${seq} of the audit chain ${what}.`,
    place: { path: `/entries/${seq - 1}` },
    details: { seq },
  });

const brokenCheckpoint = (index: number, what: string): { ok: false; error: ErrorData } =>
  failure('AUDIT_BROKEN', {
    message: `Checkpoint ${index + 1} of the audit chain: ${what}.`.replace(/\.\.$/, '.'),
    place: { path: `/checkpoints/${index}` },
  });
