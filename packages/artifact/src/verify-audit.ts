import { type AuditEntry, auditEntrySchema, type ErrorData } from '@glovebox/contract';
import { auditChainStart, auditEntryHash } from './audit.ts';
import { failure, type TrustedKeys } from './check-statement.ts';
import { readCheckpoints } from './checkpoints.ts';

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
    for (const hash of awaited.get(seq) ?? []) {
      if (hash !== previous) return broken(seq, 'is not the one that was signed');
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
