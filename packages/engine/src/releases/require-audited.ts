import { auditEntryHash } from '@glovebox/artifact';
import { type AuditAction, type AuditEntry, auditEntrySchema, GloveboxError, type Release } from '@glovebox/contract';
import type { AuditLog } from '../ports.ts';
import { refuseRevoked } from './resolve-release.ts';

/**
 * Hold the row of a release against the audit chain: it must tell, once, that this artifact was released under this name,
 * and not that the release was revoked. Two look-ups, whatever the length of the chain.
 *
 * Only the hash of the entry itself is made again. An entry that was taken out, and one that was put in, are for
 * verifyAuditChain: whoever does that to the file as well is not stopped here.
 *
 * @param release in any state; one whose row says itself that it is revoked is not refused for that.
 * @throws GloveboxError `AUDIT_BROKEN`; `RELEASE_REVOKED` where the row says that it is not.
 */
export async function requireAudited(audit: Pick<AuditLog, 'list'>, release: Release): Promise<void> {
  const [published, revoked] = await Promise.all([
    entriesOf(audit, release, 'release.published'),
    entriesOf(audit, release, 'release.revoked'),
  ]);
  const [entry, ...others] = published;
  // A name is released once; a second entry was put there by somebody else.
  if (entry === undefined || others.length > 0 || !isWhole(entry) || entry.details.artifact !== release.digest)
    throw notAudited(release);
  const [revocation] = revoked;
  if (revocation === undefined || release.state === 'revoked') return;
  if (!isWhole(revocation)) throw notAudited(release);
  const { reason } = revocation.details;
  const changedAt = new Date(revocation.atMs).toISOString();
  refuseRevoked({ ...release, state: 'revoked', reason: typeof reason === 'string' ? reason : null, changedAt });
}

async function entriesOf(audit: Pick<AuditLog, 'list'>, release: Release, action: AuditAction): Promise<AuditEntry[]> {
  try {
    return await audit.list({ subject: release.ref, action, limit: 2 });
  } catch (error) {
    // Disks and locks are not the chain's fault. What is a defect anywhere else is a row that somebody wrote here.
    throw GloveboxError.is(error) && error.code !== 'INTERNAL' ? error : notAudited(release, error);
  }
}

/** What was written over may have any shape. */
function isWhole(unsafeEntry: AuditEntry): boolean {
  const checked = auditEntrySchema.safeParse(unsafeEntry);
  try {
    return checked.success && auditEntryHash(checked.data) === checked.data.hash;
  } catch {
    return false;
  }
}

const notAudited = ({ ref, digest }: Release, cause?: unknown): GloveboxError =>
  new GloveboxError('AUDIT_BROKEN', {
    message: `The audit chain does not tell that ${ref} was released as ${digest}.`,
    details: { ref, digest },
    ...(cause === undefined ? {} : { cause }),
  });
