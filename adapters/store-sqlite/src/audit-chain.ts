import { auditChainStart, auditEntryHash } from '@glovebox/artifact/audit';
import type { AuditAction, AuditEntry, AuditEvent } from '@glovebox/contract';
import { GloveboxError } from '@glovebox/contract/errors';
import type { Statements } from './statements.ts';

/** Who acts where nobody asked: recovery after a crash. */
export const systemActor = 'system';

export interface AuditHead {
  seq: number;
  hash: string;
}

export function auditHead(sql: Statements): AuditHead | undefined {
  const row = sql.get<AuditHead>('SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1');
  return row && { seq: row.seq, hash: row.hash };
}

/**
 * Put an event at the end of the chain. Only within the write transaction of what it tells about: the lock that this one
 * holds is what lets no other process take the same number or the same previous hash.
 *
 * @throws GloveboxError `INTERNAL` where the event is not JSON, so that the transaction is undone with it.
 */
export function appendAudit(sql: Statements, event: AuditEvent): void {
  const head = auditHead(sql);
  // Member by member: what else a caller's object may have is neither hashed nor kept.
  const unhashed: Omit<AuditEntry, 'hash'> = {
    seq: (head?.seq ?? 0) + 1,
    atMs: event.atMs,
    actor: event.actor,
    project: event.project,
    action: event.action,
    subject: event.subject,
    details: event.details,
    previous: head?.hash ?? auditChainStart,
  };
  // First, as it refuses what is not JSON and what SQLite would keep as another text.
  const hash = auditEntryHash(unhashed);
  sql.run(
    `INSERT INTO audit (seq, at_ms, actor, project, action, subject, details_json, previous, hash)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    unhashed.seq,
    unhashed.atMs,
    unhashed.actor,
    unhashed.project,
    unhashed.action,
    unhashed.subject,
    JSON.stringify(unhashed.details),
    unhashed.previous,
    hash,
  );
}

/** What no transition of the store brings about. */
const ownActions: readonly AuditAction[] = ['instance.created', 'key.rotated'];

/**
 * An event by itself.
 *
 * @throws GloveboxError `INTERNAL` for the action of a transition: by the chain it would have happened, and it has not.
 */
export function appendAuditEvent(sql: Statements, event: AuditEvent): void {
  if (!ownActions.includes(event.action))
    throw new GloveboxError('INTERNAL', { message: `${event.action} is audited by its transition alone` });
  sql.write(() => appendAudit(sql, event));
}
