import {
  type AuditCheckpoint,
  type AuditCheckpointPredicate,
  auditCheckpointPredicateSchema,
  auditCheckpointPredicateType,
  auditCheckpointSchema,
  type ErrorData,
  GloveboxError,
  type Statement,
  statementSchema,
  statementType,
} from '@glovebox/contract';
import { canonicalJson } from './canonical.ts';
import {
  checkStatement,
  failure,
  type PinnedKeys,
  pinKeys,
  type StatementKind,
  type TrustedKeys,
} from './check-statement.ts';
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

/**
 * What checkpoints say that a chain was, wherever their keys vouch for it.
 *
 * @returns `AUDIT_BROKEN` with the place of one that is none, `ATTESTATION_KEY_UNKNOWN`, `KEY_UNUSABLE`; `KEY_RETIRED` where the
 *   last one is by a retired key.
 */
export function readCheckpoints(
  unsafeCheckpoints: readonly unknown[],
  trusted: TrustedKeys,
):
  | {
      ok: true;
      /** The hashes that were signed for an entry. */
      bySeq: Map<number, Set<string>>;
      keyId: string | null;
    }
  | { ok: false; error: ErrorData } {
  const bySeq = new Map<number, Set<string>>();
  // One may be there any number of times, and its signature costs more than all else of it.
  const known = new Map<string, Extract<CheckedCheckpoint, { ok: true }>>();
  let lastPinned = 0;
  let keyId: string | null = null;
  let retired: { seq: number; error: ErrorData } | undefined;
  let instance: string | undefined;
  try {
    const pinned = pinKeys(trusted);
    for (const [i, unsafe] of unsafeCheckpoints.entries()) {
      const row = auditCheckpointSchema.safeParse(unsafe);
      if (!row.success) return brokenCheckpoint(i, 'is none');
      const { envelopeText } = row.data;
      const checked = known.get(envelopeText) ?? checkCheckpoint(envelopeText, pinned);
      if (!checked.ok)
        return checked.error.code === 'AUDIT_BROKEN' ? brokenCheckpoint(i, checked.error.message) : checked;
      known.set(envelopeText, checked);
      const { predicate, by } = checked;
      const { seq, hash } = predicate;
      instance ??= predicate.instance;
      if (predicate.instance !== instance) return brokenCheckpoint(i, 'is of another instance');
      if (seq !== row.data.seq || hash !== row.data.hash) return brokenCheckpoint(i, 'is not what was signed');
      if (by.kind === 'pinned') {
        if (seq >= lastPinned) keyId = by.keyId;
        lastPinned = Math.max(lastPinned, seq);
      } else if (retired === undefined || seq > retired.seq) retired = { seq, error: by.error };
      const hashes = bySeq.get(seq) ?? new Set();
      bySeq.set(seq, hashes.add(hash));
    }
  } catch (error) {
    if (GloveboxError.is(error, 'KEY_UNUSABLE')) return { ok: false, error: error.toData() };
    throw error;
  }
  if (retired !== undefined && retired.seq > lastPinned) return { ok: false, error: retired.error };
  return { ok: true, bySeq, keyId };
}

type CheckedCheckpoint =
  | {
      ok: true;
      predicate: AuditCheckpointPredicate;
      by: { kind: 'pinned'; keyId: string } | { kind: 'retired'; error: ErrorData };
    }
  | { ok: false; error: ErrorData };

function checkCheckpoint(envelopeText: string, pinned: PinnedKeys): CheckedCheckpoint {
  const bytes = Buffer.from(envelopeText);
  const checked = checkStatement(bytes, pinned, checkpointKind);
  if (checked.ok) {
    return { ok: true, predicate: checked.statement.predicate, by: { kind: 'pinned', keyId: checked.keyId } };
  }
  if (checked.error.code !== 'KEY_RETIRED') return checked;
  // What it says still has to be read.
  const byRetired = checkStatement(bytes, { keys: [...pinned.keys, ...pinned.retired], retired: [] }, checkpointKind);
  return byRetired.ok
    ? { ok: true, predicate: byRetired.statement.predicate, by: { kind: 'retired', error: checked.error } }
    : byRetired;
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

const brokenCheckpoint = (index: number, what: string): { ok: false; error: ErrorData } =>
  failure('AUDIT_BROKEN', {
    message: `Checkpoint ${index + 1} of the audit chain: ${what}.`.replace(/\.\.$/, '.'),
    place: { path: `/checkpoints/${index}` },
  });
