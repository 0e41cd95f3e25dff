import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';

interface Entry {
  seq: number;
  at_ms: number;
  actor: string;
  project: string;
  action: string;
  subject: string;
  details_json: string;
  previous: string;
  hash: string;
}

/** Compute the chain again from its first entry: docs/stages/record.md says how. @returns what does not fit. */
export function checkAudit(db: DatabaseSync): string[] {
  const problems: string[] = [];
  let before = { seq: 0, hash: `sha256:${'0'.repeat(64)}` };
  for (const row of db.prepare('SELECT * FROM audit ORDER BY seq').all() as unknown as Entry[]) {
    if (row.seq !== before.seq + 1) problems.push(`audit entry ${row.seq} comes after ${before.seq}`);
    if (row.previous !== before.hash) problems.push(`audit entry ${row.seq} does not have the hash of the one before`);
    const covered = {
      seq: row.seq,
      atMs: row.at_ms,
      actor: row.actor,
      project: row.project,
      action: row.action,
      subject: row.subject,
      details: JSON.parse(row.details_json),
      previous: row.previous,
    };
    const hash = `sha256:${createHash('sha256').update(canonical(covered)).digest('hex')}`;
    if (row.hash !== hash) problems.push(`audit entry ${row.seq} does not have its own hash`);
    before = row;
  }
  const strays = db
    .prepare('SELECT number FROM audit_checkpoints WHERE (seq, hash) NOT IN (SELECT seq, hash FROM audit)')
    .all();
  for (const { number } of strays) problems.push(`audit checkpoint ${number} is of no entry`);
  return problems;
}

/** RFC 8785 for what JSON.parse gives: keys in the order of their UTF-16 code units, scalars as JSON.stringify writes them. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(',')}}`;
}
