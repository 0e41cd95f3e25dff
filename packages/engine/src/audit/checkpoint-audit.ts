import { signCheckpoint, verifyAudit } from '@glovebox/artifact';
import { type AuditCheckpoint, GloveboxError } from '@glovebox/contract';
import type { Engine } from '../engine.ts';
import { auditEntries } from './audit-entries.ts';

/** The parts of an engine that signing the audit chain takes. */
export type AuditSigning = Pick<Engine, 'audit' | 'signer' | 'keys' | 'now'>;

/** Entries that may come after the last checkpoint before a run makes another. */
const checkpointEvery = 1000;

/**
 * Sign the head of the audit chain: from then on nobody without the key can rewrite what came before. Nothing is added where
 * the current key has signed that head before.
 *
 * What comes after the last checkpoint is checked first: nothing is signed over a chain that does not hold.
 *
 * @returns the checkpoint over the head; undefined for an empty chain.
 * @throws GloveboxError `AUDIT_BROKEN`.
 */
export async function checkpointAudit(engine: AuditSigning): Promise<AuditCheckpoint | undefined> {
  const { audit, signer, keys, now } = engine;
  const last = await audit.latestCheckpoint();
  const from = last === undefined ? undefined : await linkBefore(audit, last.seq);
  const checkpoints = last === undefined ? [] : [last];
  const verified = await verifyAudit(auditEntries(audit, from?.seq), checkpoints, { keys }, from);
  if (!verified.ok) throw GloveboxError.fromData(verified.error);
  const { head, entries } = verified;
  if (head === null) return undefined;
  if (last?.seq === entries && (await isByCurrentKey(engine, last))) return last;
  const checkpoint = await signCheckpoint({ seq: entries, hash: head }, now(), signer);
  await audit.addCheckpoint(checkpoint);
  return checkpoint;
}

/** The same, where a thousand entries have come since the last one. */
export async function checkpointWhenDue(engine: AuditSigning): Promise<void> {
  const [head, last] = await Promise.all([engine.audit.head(), engine.audit.latestCheckpoint()]);
  if ((head?.seq ?? 0) - (last?.seq ?? 0) >= checkpointEvery) await checkpointAudit(engine);
}

/** After a rotation, the new key signs what the old one vouched for. */
async function isByCurrentKey({ audit, keys }: AuditSigning, checkpoint: AuditCheckpoint): Promise<boolean> {
  const from = await linkBefore(audit, checkpoint.seq);
  return (await verifyAudit(auditEntries(audit, from.seq), [checkpoint], { keys: keys.slice(0, 1) }, from)).ok;
}

/** Where the chain stood before an entry, by that entry's own word: whoever has signed over the entry has signed over that. */
async function linkBefore(audit: AuditSigning['audit'], seq: number): Promise<{ seq: number; hash: string }> {
  const [entry] = await audit.list({ after: seq - 1, limit: 1 });
  if (entry?.seq === seq) return { seq: seq - 1, hash: entry.previous };
  throw new GloveboxError('AUDIT_BROKEN', {
    message: `Entry ${seq} of the audit chain is missing, and was signed.`,
    details: { seq },
  });
}
