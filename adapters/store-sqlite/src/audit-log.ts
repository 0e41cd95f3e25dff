import type { AuditAction, AuditCheckpoint, AuditEntry } from '@glovebox/contract';
import { GloveboxError } from '@glovebox/contract/errors';
import type { AuditLog } from '@glovebox/engine';
import type { Statements } from './statements.ts';

interface AuditRow {
  seq: number;
  at_ms: number;
  actor: string;
  project: string;
  action: AuditAction;
  subject: string;
  details_json: string;
  previous: string;
  hash: string;
}

type ListQuery = Parameters<AuditLog['list']>[0];

/**
 * One page along an index that ends in the number. SQLite does not know which filter leaves the fewest, and is told by a plus
 * sign which ones to leave to the others: a subject has a handful of entries, an action or a project most of them.
 * Exported so that a test can ask SQLite for its plan.
 */
export function auditStatement(query: ListQuery): { sql: string; values: (string | number)[] } {
  const filters: [column: string, value: string | undefined][] = [
    ['subject', query.subject],
    ['action', query.action],
    ['project', query.project],
  ];
  const used = filters.filter((filter): filter is [string, string] => filter[1] !== undefined);
  const clauses = used.map(([column], i) => `${i === 0 ? '' : '+'}${column} = ?`);
  return {
    sql: `SELECT seq, at_ms, actor, project, action, subject, details_json, previous, hash FROM audit
       WHERE ${[...clauses, 'seq > ?'].join(' AND ')} ORDER BY seq LIMIT ?`,
    // A negative limit would mean none to SQLite.
    values: [...used.map(([, value]) => value), query.after ?? 0, Math.max(0, Math.trunc(query.limit))],
  };
}

/** As it is written, with no look at hashes: who verifies wants to see what is wrong. */
export function listAudit(sql: Statements, query: ListQuery): AuditEntry[] {
  const statement = auditStatement(query);
  return sql.all<AuditRow>(statement.sql, ...statement.values).map((row) => ({
    seq: row.seq,
    atMs: row.at_ms,
    actor: row.actor,
    project: row.project,
    action: row.action,
    subject: row.subject,
    details: JSON.parse(row.details_json) as AuditEntry['details'],
    previous: row.previous,
    hash: row.hash,
  }));
}

export function listCheckpoints(sql: Statements): AuditCheckpoint[] {
  return sql
    .all<AuditCheckpoint>('SELECT seq, hash, envelope_text AS envelopeText FROM audit_checkpoints ORDER BY number')
    .map((row) => ({ ...row }));
}

export function latestCheckpoint(sql: Statements): AuditCheckpoint | undefined {
  const row = sql.get<AuditCheckpoint>(
    'SELECT seq, hash, envelope_text AS envelopeText FROM audit_checkpoints ORDER BY seq DESC, number DESC LIMIT 1',
  );
  return row && { ...row };
}

export function addCheckpoint(sql: Statements, { seq, hash, envelopeText }: AuditCheckpoint): void {
  sql.write(() => {
    if (sql.get('SELECT 1 FROM audit WHERE seq = ? AND hash = ?', seq, hash) === undefined) {
      throw new GloveboxError('AUDIT_BROKEN', { message: `the audit chain has no entry ${seq} of hash ${hash}` });
    }
    // The answer to the first call may have been lost.
    const there = sql.get(
      'SELECT 1 FROM audit_checkpoints WHERE seq = ? AND hash = ? AND envelope_text = ?',
      seq,
      hash,
      envelopeText,
    );
    if (there !== undefined) return;
    sql.run('INSERT INTO audit_checkpoints (seq, hash, envelope_text) VALUES (?, ?, ?)', seq, hash, envelopeText);
  });
}
