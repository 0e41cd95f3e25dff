import type { AuditEntry, Digest } from '@glovebox/contract';
import { canonicalJson } from './canonical.ts';
import { sha256Of } from './digest.ts';

/** The `previous` of the first entry of a chain. */
export const auditChainStart: Digest = `sha256:${'0'.repeat(64)}` as Digest;

/**
 * The hash of an audit entry: sha256 over the canonical JSON of all its members but `hash`. It covers the hash of the
 * entry before, so that nothing before a known hash can be changed, removed or put elsewhere.
 *
 * @throws GloveboxError `INTERNAL` where the entry is not JSON, such as a text with half a surrogate pair.
 */
export function auditEntryHash(entry: Omit<AuditEntry, 'hash'> & { hash?: string }): Digest {
  const { hash: _, ...covered } = entry;
  return sha256Of(canonicalJson(covered));
}
