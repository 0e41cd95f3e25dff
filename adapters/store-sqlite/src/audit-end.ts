import type { DatabaseSync } from 'node:sqlite';
import type { EndState } from '@glovebox/contract';
import { GloveboxError } from '@glovebox/contract/errors';
import { appendAudit, systemActor } from './audit-chain.ts';
import { Statements } from './statements.ts';

interface End {
  attempt: string;
  run: string;
  state: EndState;
  endedAtMs: number;
  receiptDigest: string | null;
  /** Who ended it; whoever asked for the run, where left out. */
  actor?: string;
}

/** Audit the end of an attempt. Only within the transaction that records it. */
export function auditEnd(sql: Statements, { attempt, run, state, endedAtMs, receiptDigest, actor }: End): void {
  const of = sql.get<{ project: string; actor: string; release: string | null }>(
    'SELECT project, actor, release_ref AS release FROM runs WHERE id = ?',
    run,
  );
  if (of === undefined) throw new GloveboxError('INTERNAL', { message: `there is no run ${run}` });
  appendAudit(sql, {
    // Audit counts whole milliseconds.
    atMs: Math.floor(endedAtMs),
    actor: actor ?? of.actor,
    project: of.project,
    action: 'attempt.ended',
    subject: attempt,
    details: { run, state, receiptDigest, release: of.release },
  });
}

/** Audit what ended before there was an audit, in the order in which it ended. Only where the chain is empty. */
export function auditEarlierEnds(db: DatabaseSync): void {
  const sql = new Statements(db);
  const ends = sql.all<Omit<End, 'actor'>>(
    `SELECT attempts.id AS attempt, attempts.run_id AS run, state, ended_ms AS endedAtMs, receipt_digest AS receiptDigest
     FROM attempts JOIN attempt_ends ON attempt_ends.attempt_id = attempts.id
     ORDER BY (SELECT max(seq) FROM journal WHERE journal.run_id = attempts.run_id AND journal.attempt_id = attempts.id)`,
  );
  for (const end of ends) {
    // One that was found lost has no receipt; nobody asked for its end.
    const isLost = end.state === 'LOST' && end.receiptDigest === null;
    auditEnd(sql, isLost ? { ...end, actor: systemActor } : end);
  }
}
