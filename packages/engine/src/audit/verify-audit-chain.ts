import { type TrustedKeys, verifyAudit } from '@glovebox/artifact';
import { GloveboxError } from '@glovebox/contract';
import type { Engine } from '../engine.ts';
import { auditEntries } from './audit-entries.ts';

/** What holds of an audit chain. */
export interface AuditVerdict {
  entries: number;
  /** Hash of the last entry; null for an empty chain. */
  head: string | null;
  checkpoints: number;
  /** Number of the last entry that a trusted key vouches for: those after it could be rewritten unseen. */
  signedUpTo: number;
}

/**
 * Make the hash of every entry again, and hold the chain against every checkpoint that was signed over it.
 *
 * @param trusted keys that vouch for it; no others count.
 * @throws GloveboxError `AUDIT_BROKEN`, with the number of the entry where it does as `details.seq`; `ATTESTATION_KEY_UNKNOWN`,
 *   `KEY_RETIRED`, `KEY_UNUSABLE`.
 */
export async function verifyAuditChain({ audit }: Pick<Engine, 'audit'>, trusted: TrustedKeys): Promise<AuditVerdict> {
  // First: a checkpoint that is added meanwhile would be of an entry that is not looked at.
  const checkpoints = await audit.checkpoints();
  const verified = await verifyAudit(auditEntries(audit), checkpoints, trusted);
  if (!verified.ok) throw GloveboxError.fromData(verified.error);
  const { entries, head, signedUpTo } = verified;
  return { entries, head, checkpoints: checkpoints.length, signedUpTo };
}
