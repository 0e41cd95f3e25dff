import { DatabaseSync } from 'node:sqlite';
import { checkAudit } from './check-audit.ts';
import { checkLifeCycle } from './check-life-cycle.ts';

/**
 * Hold a database against what must be true of it at any moment, with SQLite and hashes alone: none of the product's code.
 *
 * @returns what is wrong; empty when all is well.
 */
export function checkDatabase(path: string): string[] {
  const db = new DatabaseSync(path, { timeout: 5000 });
  try {
    const problems: string[] = [];
    const expectNone = (claim: string, sql: string): void => {
      for (const row of db.prepare(sql).all()) problems.push(`${claim}: ${JSON.stringify(row)}`);
    };
    expectNone('the file is damaged', "SELECT * FROM pragma_integrity_check WHERE integrity_check <> 'ok'");
    expectNone('a row refers to nothing', 'SELECT * FROM pragma_foreign_key_check');
    expectNone(
      'an attempt is not where its journal ends',
      `SELECT id, state FROM attempts WHERE state IS NOT
         (SELECT to_state FROM journal WHERE attempt_id = attempts.id ORDER BY seq DESC LIMIT 1)`,
    );
    expectNone(
      'a run is not where its newest attempt is',
      `
      SELECT runs.id, runs.state, attempts.state AS attempt FROM runs LEFT JOIN attempts ON attempts.id = runs.attempt_id
      WHERE runs.state IS NOT attempts.state OR runs.ended_ms IS NOT attempts.ended_ms`,
    );
    expectNone(
      'the journal tells of an attempt that is not there',
      `
      SELECT DISTINCT attempt_id FROM journal WHERE attempt_id NOT IN (SELECT id FROM attempts)`,
    );
    expectNone('a run has no inputs', 'SELECT id FROM runs WHERE id NOT IN (SELECT run_id FROM run_inputs)');
    expectNone(
      'the journal has a gap',
      `
      SELECT seq FROM journal WHERE seq <> 1 AND seq - 1 NOT IN (SELECT seq FROM journal)`,
    );
    expectNone(
      'a journal entry does not follow from the one before',
      `
      SELECT seq, from_state, before FROM (
        SELECT seq, from_state, lag(to_state) OVER (PARTITION BY attempt_id ORDER BY seq) AS before FROM journal)
      WHERE from_state IS NOT before`,
    );
    expectNone(
      'a move is not a legal one',
      `
      SELECT seq, from_state, to_state FROM journal WHERE NOT (
        (from_state IS NULL AND to_state = 'QUEUED') OR (from_state = 'QUEUED' AND to_state <> 'QUEUED')
        OR (from_state = 'RUNNING' AND to_state NOT IN ('QUEUED', 'RUNNING')))`,
    );
    expectNone(
      'an attempt that ended has no end, or one that is open has',
      `
      SELECT id, state FROM attempts WHERE (state IN ('QUEUED', 'RUNNING')) = (id IN (SELECT attempt_id FROM attempt_ends))`,
    );
    expectNone(
      'the log of an attempt has a gap',
      `
      SELECT attempt_id FROM logs GROUP BY attempt_id HAVING min(seq) <> 1 OR max(seq) <> count(*)`,
    );
    expectNone(
      'a revision of an egress policy is not in the audit chain as it is, or not with the one before',
      `
      SELECT project, revision FROM egress_policies AS policy WHERE NOT EXISTS (
        SELECT 1 FROM audit WHERE action = 'policy.set' AND subject = policy.project AND actor = changed_by
          AND details_json ->> 'revision' = revision AND details_json ->> 'digest' = digest AND details_json ->> 'previous' IS (
            SELECT digest FROM egress_policies WHERE project = policy.project AND revision = policy.revision - 1))`,
    );
    return [...problems, ...checkEndsByAudit(db), ...checkAudit(db), ...checkLifeCycle(db)];
  } finally {
    db.close();
  }
}

/** Each end of an attempt is told once, as it is recorded. */
function checkEndsByAudit(db: DatabaseSync): string[] {
  const problems: string[] = [];
  const told = db
    .prepare(
      `SELECT subject, group_concat(project || ' ' || (details_json ->> 'state') || ' '
         || coalesce(details_json ->> 'receiptDigest', '-') || ' ' || coalesce(details_json ->> 'release', '-')) AS ends
       FROM audit WHERE action = 'attempt.ended' GROUP BY subject`,
    )
    .all() as { subject: string; ends: string }[];
  const recorded = db
    .prepare(
      `SELECT attempts.id AS subject, project || ' ' || attempts.state || ' ' || coalesce(receipt_digest, '-') || ' '
         || coalesce(release_ref, '-') AS ends
       FROM attempts JOIN runs ON runs.id = run_id JOIN attempt_ends ON attempt_ends.attempt_id = attempts.id`,
    )
    .all() as { subject: string; ends: string }[];
  const ends = new Map(told.map((row) => [row.subject, row.ends]));
  for (const row of recorded) {
    if (ends.get(row.subject) !== row.ends)
      problems.push(`${row.subject} ended as ${row.ends}, and by audit as ${ends.get(row.subject)}`);
    ends.delete(row.subject);
  }
  for (const subject of ends.keys()) problems.push(`audit tells of the end of ${subject}, which has none`);
  return problems;
}
