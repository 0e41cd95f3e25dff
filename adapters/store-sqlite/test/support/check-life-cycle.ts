import type { DatabaseSync } from 'node:sqlite';

/** Where each action of audit may find a draft, and where it may leave it. */
const moves: Record<string, { from: readonly string[]; to: readonly string[] }> = {
  'draft.put': { from: ['none', 'draft', 'passed', 'failed', 'released'], to: ['draft'] },
  'draft.validation-began': { from: ['draft', 'passed', 'failed'], to: ['validating'] },
  'draft.validation-ended': { from: ['validating'], to: ['passed', 'failed'] },
  'draft.validation-abandoned': { from: ['validating'], to: ['draft'] },
  'release.published': { from: ['passed'], to: ['released'] },
};

const releaseStates: Record<string, string> = {
  'release.published': 'active',
  'release.undeprecated': 'active',
  'release.deprecated': 'deprecated',
  'release.revoked': 'revoked',
};

/**
 * Hold drafts and releases against what must be true of them at any moment, and against what audit tells of them.
 *
 * @returns what is wrong.
 */
export function checkLifeCycle(db: DatabaseSync): string[] {
  return [...checkTables(db), ...checkDraftsByAudit(db), ...checkReleasesByAudit(db)];
}

function checkTables(db: DatabaseSync): string[] {
  const problems: string[] = [];
  const expectNone = (claim: string, sql: string): void => {
    for (const row of db.prepare(sql).all()) problems.push(`${claim}: ${JSON.stringify(row)}`);
  };
  const draft = 'SELECT project, id, state FROM drafts';
  expectNone(
    'a draft is in no known state',
    `${draft} WHERE state NOT IN ('draft', 'validating', 'passed', 'failed', 'released')`,
  );
  expectNone(
    'a draft has an owner and is not being validated, or the other way round',
    `${draft} WHERE (state = 'validating') <> (validation IS NOT NULL)
       OR (validation IS NULL) <> (owner_instance IS NULL) OR (validation IS NULL) <> (owner_boot_id IS NULL)
       OR (validation IS NULL) <> (owner_pid IS NULL) OR (validation IS NULL) <> (owner_start_ticks IS NULL)`,
  );
  expectNone(
    'a draft has an artifact and has not passed, or the other way round',
    `${draft} WHERE (state IN ('passed', 'released')) <> (artifact IS NOT NULL)
       OR (artifact IS NULL) <> (image IS NULL) OR (artifact IS NULL) <> (permissions IS NULL)`,
  );
  expectNone(
    'a draft has a report and no verdict, or the other way round',
    `${draft} WHERE (state IN ('passed', 'failed', 'released')) <> (report_json IS NOT NULL)`,
  );
  expectNone(
    'the report of a draft is about something else',
    `${draft} WHERE report_json IS NOT NULL AND (report_json ->> 'project', report_json ->> 'id', report_json ->> 'version',
       report_json ->> 'revision', report_json ->> 'valid') IS NOT (project, id, version, revision, state <> 'failed')`,
  );
  expectNone(
    'a released draft has no release of its own',
    `${draft} WHERE state = 'released' AND (project, id, version, revision, artifact) NOT IN
       (SELECT project, id, version, revision, digest FROM releases)`,
  );
  expectNone(
    'a draft has a version that is released with another revision',
    `SELECT drafts.id, drafts.version FROM drafts JOIN releases USING (project, id, version)
     WHERE drafts.revision <> releases.revision`,
  );
  expectNone(
    'a release is in no known state, or has a reason that it should not have',
    `SELECT ref, state, reason FROM releases WHERE state NOT IN ('active', 'deprecated', 'revoked')
       OR (state = 'active') <> (reason IS NULL)`,
  );
  expectNone(
    'two releases have one digest, version or name',
    `SELECT ref FROM releases GROUP BY project, id, digest HAVING count(*) > 1
     UNION ALL SELECT ref FROM releases GROUP BY project, id, version HAVING count(*) > 1
     UNION ALL SELECT ref FROM releases GROUP BY ref HAVING count(*) > 1
     UNION ALL SELECT ref FROM releases WHERE ref <> project || '/' || id || '@' || version`,
  );
  expectNone(
    'a run is of a release that is not there',
    `SELECT id, release_ref FROM runs WHERE (mode = 'release') <> (release_ref IS NOT NULL)
       OR (release_ref IS NOT NULL AND (release_ref, release_digest) NOT IN (SELECT ref, digest FROM releases))`,
  );
  return problems;
}

interface Told {
  seq: number;
  project: string;
  action: string;
  subject: string;
}

const told = (db: DatabaseSync): Told[] =>
  db.prepare('SELECT seq, project, action, subject FROM audit ORDER BY seq').all() as unknown as Told[];

/** `project/id` of `project/id@version`. */
const nameOf = ({ subject }: Told): string => subject.split('@')[0] ?? '';

function checkDraftsByAudit(db: DatabaseSync): string[] {
  const problems: string[] = [];
  const standing = new Map<string, readonly string[]>();
  for (const entry of told(db)) {
    const move = moves[entry.action];
    if (move === undefined) continue;
    const before = standing.get(nameOf(entry)) ?? ['none'];
    if (!before.some((state) => move.from.includes(state)))
      problems.push(`audit entry ${entry.seq}: ${entry.action} of a draft that is ${before.join(' or ')}`);
    standing.set(nameOf(entry), move.to);
  }
  const drafts = db.prepare("SELECT project || '/' || id AS name, state FROM drafts").all();
  for (const { name, state } of drafts as { name: string; state: string }[]) {
    if (!standing.get(name)?.includes(state))
      problems.push(`${name} is ${state}, and by audit ${standing.get(name)?.join(' or ')}`);
    standing.delete(name);
  }
  for (const name of standing.keys()) problems.push(`audit tells of ${name}, which is not there`);
  return problems;
}

function checkReleasesByAudit(db: DatabaseSync): string[] {
  const problems: string[] = [];
  const standing = new Map<string, string>();
  for (const { seq, action, subject } of told(db)) {
    const state = releaseStates[action];
    if (state === undefined) continue;
    const before = standing.get(subject);
    if ((action === 'release.published') !== (before === undefined) || before === 'revoked')
      problems.push(`audit entry ${seq}: ${action} of ${subject}, which was ${before ?? 'not there'}`);
    standing.set(subject, state);
  }
  const releases = db.prepare('SELECT ref, state FROM releases').all();
  for (const { ref, state } of releases as { ref: string; state: string }[]) {
    if (standing.get(ref) !== state) problems.push(`${ref} is ${state}, and by audit ${standing.get(ref)}`);
    standing.delete(ref);
  }
  for (const ref of standing.keys()) problems.push(`audit tells of ${ref}, which is not there`);
  return problems;
}
