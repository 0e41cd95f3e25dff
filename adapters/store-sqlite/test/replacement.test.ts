import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore, type Store } from '../src/index.ts';
import { migrations } from '../src/migrations.ts';
import { openDatabase } from '../src/open-database.ts';
import { checkDatabase } from './support/check-database.ts';
import { bringTo, digestOf, makeDraft, steps } from './support/drafts.ts';
import { makeDirectory, makeEnd, makeRun } from './support/records.ts';
import { allRows } from './support/rows.ts';

let home: ReturnType<typeof makeDirectory>;
let path: string;

beforeEach(() => {
  home = makeDirectory();
  path = join(home.dir, 'glovebox.db');
});
afterEach(() => home.remove());

/** Another program of the host: its triggers are not recursive, so that what REPLACE deletes fires none. */
function write(sql: string): void {
  const db = new DatabaseSync(path);
  try {
    db.exec(sql);
  } finally {
    db.close();
  }
}

async function withStore(action: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore(path, { inThread: true });
  try {
    await action(store);
  } finally {
    await store.close();
  }
}

const latest = makeDraft({ version: '2.0.0' });

/** A release that is revoked and one that is not, a checkpoint, an attempt that has ended and one that has not. */
async function fill(store: Store): Promise<void> {
  await bringTo(store, makeDraft(), 'released');
  await steps.setState(store, makeDraft(), 'revoked', 'it is bad');
  await bringTo(store, latest, 'released');
  const head = await store.audit.head();
  await store.audit.addCheckpoint({ seq: head?.seq ?? 0, hash: head?.hash ?? '', envelopeText: '{}' });
  const [ended, running] = [makeRun(), makeRun()];
  for (const { run, attempt } of [ended, running]) {
    await store.runs.create(run, attempt);
    await store.runs.begin(attempt.id, 1);
  }
  await store.runs.finish(ended.attempt.id, makeEnd());
}

const columns =
  'project, id, version, version_key, prerelease, title, digest, revision, image, permissions, state, reason, published_by, published_ms, changed_ms';
const copyOf = (version: string, change: (names: string) => string = (names) => names): string =>
  `INSERT OR REPLACE INTO releases (${columns}) SELECT ${change(columns)} FROM releases WHERE version = '${version}'`;
const revived = (names: string): string => names.replace('state, reason', "'active', NULL");

const replacements: [what: string, sql: string][] = [
  ['a revoked release by the same one, active', copyOf('1.0.0', revived)],
  [
    'a release by another version of its digest',
    copyOf('1.0.0', (names) => names.replace('version, version_key', "'3.0.0', '3'")),
  ],
  [
    'a release by one of another name that sorts as it does',
    copyOf('1.0.0', (names) =>
      names.replace('version, version_key', "'1.0.0+x', version_key").replace('digest', `'${digestOf('x')}'`),
    ),
  ],
  [
    'a release by whatever takes its row',
    `INSERT OR REPLACE INTO releases (rowid, ${columns}) SELECT 1, ${columns.replace('version, version_key', "'3.0.0', '3'").replace('digest', `'${digestOf('x')}'`)} FROM releases WHERE version = '2.0.0'`,
  ],
  ['a release by another that moves to its row', "UPDATE OR REPLACE releases SET rowid = 1 WHERE version = '2.0.0'"],
  [
    'a checkpoint by a forged one',
    'INSERT OR REPLACE INTO audit_checkpoints SELECT number, seq, hash, \'{"forged":1}\' FROM audit_checkpoints',
  ],
  [
    'an attempt that has ended by one that runs',
    `INSERT OR REPLACE INTO attempts SELECT id, run_id, number, 'RUNNING', owner_instance, owner_boot_id, owner_pid,
       owner_start_ticks, created_ms, started_ms, NULL FROM attempts WHERE state = 'SUCCEEDED'`,
  ],
  [
    'an attempt that has ended by another of its number',
    `INSERT OR REPLACE INTO attempts SELECT id || 'x', run_id, number, 'RUNNING', owner_instance, owner_boot_id, owner_pid,
       owner_start_ticks, created_ms, started_ms, NULL FROM attempts WHERE state = 'SUCCEEDED'`,
  ],
  [
    'an attempt that has ended by another that moves to its place',
    `UPDATE OR REPLACE attempts SET rowid = 1 WHERE state = 'RUNNING'`,
  ],
  [
    'an attempt that has ended by another that takes its name',
    `UPDATE OR REPLACE attempts SET id = (SELECT id FROM attempts WHERE state = 'SUCCEEDED') WHERE state = 'RUNNING'`,
  ],
];

describe.each<[of: string, make: () => Promise<void>]>([
  ['that is new', async () => undefined],
  [
    'of the schema before, brought up to date',
    async () => {
      openDatabase({ path, busyTimeoutMs: 1000 }, migrations.slice(0, 3)).close();
    },
  ],
])('in a database %s', (_of, make) => {
  it.each(replacements)('nothing replaces %s', async (_what, sql) => {
    await make();
    await withStore(fill);
    const before = allRows(path);
    expect(() => write(sql)).toThrow(
      /a release is never removed|append-only|the attempt is there|always that of its run/,
    );
    expect(allRows(path)).toBe(before);
    expect(checkDatabase(path)).toEqual([]);
  });
});

it('what would be replaced, were there no rule, is replaced', async () => {
  await withStore(fill);
  const before = allRows(path);
  for (const [what, sql] of replacements) {
    const db = new DatabaseSync(path, { enableForeignKeyConstraints: false });
    db.exec('BEGIN');
    for (const { name } of db
      .prepare(
        "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND (name GLOB '*_no_replace' OR name GLOB '*_keep_their_rows')",
      )
      .all())
      db.exec(`DROP TRIGGER ${name}`);
    expect(db.prepare(sql).run().changes, what).toBeGreaterThan(0);
    db.exec('ROLLBACK');
    db.close();
  }
  expect(allRows(path)).toBe(before);
});
