import type { AuditEntry } from '@glovebox/contract';
import type { Engine } from '../engine.ts';

/** Most entries of one answer. */
export const maxAuditEntries = 1000;

/**
 * Entries of the audit chain by number, ascending, as they are stored: verifyAuditChain tells whether to believe them.
 *
 * @param query `after` is the number of the last entry that was read; `limit` at most maxAuditEntries.
 */
export function listAudit(
  { audit }: Pick<Engine, 'audit'>,
  query: { after?: number; limit?: number; project?: string; action?: string; subject?: string } = {},
): Promise<AuditEntry[]> {
  return audit.list({ ...query, limit: Math.min(query.limit ?? maxAuditEntries, maxAuditEntries) });
}
