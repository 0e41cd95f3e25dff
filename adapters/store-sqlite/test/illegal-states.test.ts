import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore } from '../src/index.ts';
import { checkDatabase } from './support/check-database.ts';
import { bringTo, digestOf, makeDraft, passedOf, steps } from './support/drafts.ts';
import { makeDirectory, makeEnd, makeRun } from './support/records.ts';
import { allRows } from './support/rows.ts';

const states = ['draft', 'validating', 'passed', 'failed', 'released'] as const;
const draftOf = (state: (typeof states)[number]) => makeDraft({ id: `node-${state}` });
const where = (state: (typeof states)[number]): string => `WHERE id = 'node-${state}'`;
const nobody =
  'validation = NULL, owner_instance = NULL, owner_boot_id = NULL, owner_pid = NULL, owner_start_ticks = NULL';
const verdict = `artifact = '${digestOf('a')}', image = '${digestOf('i')}', permissions = '${digestOf('p')}', report_json = '{}'`;

let home: ReturnType<typeof makeDirectory>;
let path: string;

beforeEach(async () => {
  home = makeDirectory();
  path = join(home.dir, 'glovebox.db');
  const store = await openStore(path, { inThread: true });
  for (const state of states) await bringTo(store, draftOf(state), state);
  const { id, version, revision, title } = draftOf('released');
  const { run, attempt } = makeRun({
    mode: 'release',
    release: { ref: `default/${id}@${version}`, digest: passedOf(draftOf('released')).artifact },
    node: { id, version, revision, title },
  });
  await store.runs.create(run, attempt);
  await store.runs.finish(attempt.id, makeEnd());
  const trial = makeRun();
  await store.runs.create(trial.run, trial.attempt);
  await store.close();
});
afterEach(() => home.remove());

function write(sql: string, setting: string): void {
  const db = new DatabaseSync(path);
  try {
    db.exec(`${setting}; PRAGMA recursive_triggers = ON;`);
    db.exec(sql);
  } finally {
    db.close();
  }
}

function dropTriggers(): void {
  const db = new DatabaseSync(path);
  for (const { name } of db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all())
    db.exec(`DROP TRIGGER ${name}`);
  db.close();
}

describe('a state that must not be', () => {
  it('is none of those that transitions lead to', () => {
    expect(checkDatabase(path)).toEqual([]);
  });

  it.each([
    ['validating without an owner', `UPDATE drafts SET ${nobody} ${where('validating')}`],
    ['validating with half an owner', `UPDATE drafts SET owner_pid = NULL ${where('validating')}`],
    ['an owner after the verdict', `UPDATE drafts SET state = 'failed', report_json = '{}' ${where('validating')}`],
    [
      'passed without an artifact',
      `UPDATE drafts SET state = 'passed', ${nobody}, report_json = '{}' ${where('validating')}`,
    ],
    ['passed without an image', `UPDATE drafts SET image = NULL ${where('passed')}`],
    ['failed with an artifact', `UPDATE drafts SET state = 'failed', ${nobody}, ${verdict} ${where('validating')}`],
    ['failed without a report', `UPDATE drafts SET state = 'failed', ${nobody} ${where('validating')}`],
    [
      'a fresh draft with a report',
      `UPDATE drafts SET state = 'draft', ${nobody}, report_json = '{}' ${where('validating')}`,
    ],
    ['an unknown state of a draft', `UPDATE drafts SET state = 'approved' ${where('passed')}`],
    ['released without a release', `UPDATE drafts SET state = 'released' ${where('passed')}`],
    ['released as another artifact', `UPDATE drafts SET artifact = '${digestOf('other')}' ${where('released')}`],
    ['passed where it had failed', `UPDATE drafts SET state = 'passed', ${verdict} ${where('failed')}`],
    ['a release with no reason', `UPDATE releases SET state = 'revoked'`],
    ['an active release with a reason', `UPDATE releases SET reason = 'why'`],
    ['an unknown state of a release', `UPDATE releases SET state = 'hidden', reason = 'why'`],
    ['a release that is another artifact', `UPDATE releases SET digest = '${digestOf('other')}'`],
    ['a release that is gone', 'DELETE FROM releases'],
    ['a trial of a release', "UPDATE runs SET mode = 'trial' WHERE release_ref IS NOT NULL"],
    ['a run of no release', "UPDATE runs SET mode = 'release' WHERE release_ref IS NULL"],
    [
      'a run of a release that is not there',
      "UPDATE runs SET release_ref = 'default/none@1.0.0' WHERE mode = 'release'",
    ],
    ['a transition without its last entry', 'DELETE FROM audit WHERE seq = (SELECT max(seq) FROM audit)'],
  ])('is refused by the database, and found by the checker where it got in: %s', (_what, sql) => {
    const before = allRows(path);
    expect(() => write(sql, 'PRAGMA foreign_keys = ON')).toThrow();
    expect(allRows(path)).toBe(before);
    dropTriggers();
    write(sql, 'PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON');
    expect(allRows(path)).not.toBe(before);
    expect(checkDatabase(path)).not.toEqual([]);
  });

  it.each([
    ['a draft that moved without an entry', `UPDATE drafts SET state = 'draft', ${nobody} ${where('validating')}`],
    ['a release that was revoked without an entry', "UPDATE releases SET state = 'revoked', reason = 'why'"],
    ['the end of an attempt with another receipt', `UPDATE attempt_ends SET receipt_digest = '${digestOf('other')}'`],
  ])('is found by the checker where only audit can tell: %s', (_what, sql) => {
    write(sql, 'PRAGMA foreign_keys = ON');
    expect(checkDatabase(path)).toHaveLength(1);
  });
});

it('another revision of a released version is refused by the database, and found by the checker where it got in', async () => {
  const store = await openStore(path, { inThread: true });
  await steps.put(store, makeDraft({ id: 'node-released', version: '2.0.0' }));
  await store.close();
  const sql = `UPDATE drafts SET revision = '${digestOf('x')}', version = '1.0.0' ${where('released')}`;
  expect(() => write(sql, '')).toThrow('the version is released with another revision');
  write(sql.replace('1.0.0', '3.0.0'), '');
  expect(checkDatabase(path)).toEqual([]);
  dropTriggers();
  write(sql, '');
  expect(checkDatabase(path)).toEqual([expect.stringMatching(/^a draft has a version that is released with another/)]);
});
