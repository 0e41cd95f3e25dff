import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openStore } from '../src/index.ts';
import { migrations } from '../src/migrations.ts';
import { checkDatabase } from './support/check-database.ts';
import { startChild } from './support/child.ts';
import { statements } from './support/half-migrator.ts';
import { makeDirectory, makeEnd } from './support/records.ts';
import { makeVersion1, type Version1 } from './support/version-1.ts';

it('never changes a step that has shipped', () => {
  const texts = migrations.filter((step) => typeof step === 'string');
  expect(texts.map((step) => createHash('sha256').update(step).digest('hex'))).toEqual([
    '0d8d1508f3ce6cc8195f64f65cba9611d96d6ad2d06b6796f289598c1403c25c',
    '53a6fd5fc66df13bf8288261311ddd7703a9b0969563a609d017d189e162d992',
    'd1afccd9d39536f223e8590f712a9c5058d503c98ab0ec8981e139badd656fbe',
    'ed4935fa552bfe8ef23dce8c3aef8af78a73e97429ae2daeddaba1ded3109888',
  ]);
});

describe('a database of the first schema', () => {
  let home: ReturnType<typeof makeDirectory>;
  let path: string;
  let old: Version1;

  beforeEach(() => {
    home = makeDirectory();
    path = join(home.dir, 'glovebox.db');
    old = makeVersion1(path);
  });
  afterEach(() => home.remove());

  /** All that was in it is there, and it works on. */
  async function expectMigrated(): Promise<void> {
    const store = await openStore(path, { inThread: true });
    const { queued, running, ended, end, lost } = old;
    const attemptOf = async ({ run }: Version1['queued']) => {
      const found = await store.runs.get('default', run.id);
      expect(found?.run).toEqual({ ...run, mode: 'trial', release: null });
      return found?.attempts[0];
    };
    expect(await attemptOf(queued)).toEqual(queued.attempt);
    expect(await attemptOf(running)).toEqual({ ...running.attempt, state: 'RUNNING', startedAtMs: 5 });
    expect(await attemptOf(ended)).toEqual({ ...ended.attempt, state: 'SUCCEEDED', startedAtMs: 5, end });
    expect((await store.runs.journal(ended.run.id)).map(({ to }) => to)).toEqual(['QUEUED', 'RUNNING', 'SUCCEEDED']);
    expect(await store.runs.logs(ended.attempt.id)).toMatchObject([{ message: 'hé' }]);
    const told = await store.audit.list({ limit: 10 });
    expect(told).toMatchObject([
      {
        seq: 1,
        atMs: Math.floor(end.endedAtMs),
        actor: ended.run.actor,
        project: 'default',
        action: 'attempt.ended',
        subject: ended.attempt.id,
        details: { run: ended.run.id, state: 'SUCCEEDED', receiptDigest: end.receiptDigest, release: null },
      },
      { seq: 2, actor: 'system', subject: lost.attempt.id, details: { state: 'LOST', receiptDigest: null } },
    ]);
    await store.runs.finish(running.attempt.id, makeEnd());
    expect(await store.runs.markLost(() => true, 9)).toEqual([queued.attempt.id]);
    expect(await store.audit.head()).toMatchObject({ seq: 4 });
    await store.close();
    expect(checkDatabase(path)).toEqual([]);
  }

  it('is brought up to date with all its records', expectMigrated);

  async function killIn(where: string): Promise<void> {
    const child = startChild('half-migrator.ts', [path, where]);
    expect({ where, ...(await child.ended) }).toEqual({ where, code: null, signal: 'SIGKILL', stderr: '' });
  }

  const standing = (): unknown => {
    const db = new DatabaseSync(path);
    const read = (sql: string): unknown => Object.values(db.prepare(sql).get() ?? {})[0];
    const found = {
      version: read('PRAGMA user_version'),
      integrity: read('PRAGMA integrity_check'),
      tables: read(
        "SELECT count(*) FROM sqlite_schema WHERE name IN ('releases', 'drafts', 'audit', 'audit_checkpoints')",
      ),
      columnsOfRuns: read("SELECT count(*) FROM pragma_table_info('runs')"),
      attempts: read('SELECT count(*) FROM attempts'),
    };
    db.close();
    return found;
  };

  it('is as it was when the process was killed within the second step, wherever that was, and the next one finishes it', async () => {
    const before = { version: 1, integrity: 'ok', tables: 0, columnsOfRuns: 13, attempts: 4 };
    expect(statements.length).toBeGreaterThan(20);
    for (let count = 0; count <= statements.length; count += 4) {
      await killIn(String(count));
      expect({ count, ...(standing() as object) }).toEqual({ count, ...before });
    }
    await expectMigrated();
  });

  it('has audited nothing when the process was killed while it audited what had ended, and the next one does', async () => {
    await killIn('third');
    expect(standing()).toEqual({ version: 2, integrity: 'ok', tables: 4, columnsOfRuns: 15, attempts: 4 });
    const db = new DatabaseSync(path);
    expect(db.prepare('SELECT count(*) AS n FROM audit').get()).toEqual({ n: 0 });
    db.close();
    await expectMigrated();
  });
});
