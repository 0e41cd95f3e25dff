import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { makeDirectory } from '../test/support/records.ts';
import { createDatabaseFile, openDatabase } from './open-database.ts';

describe('the journal, whoever writes to the file', () => {
  let home: ReturnType<typeof makeDirectory>;
  let db: DatabaseSync;

  const entry = (values: string): string =>
    `INSERT INTO journal (seq, at_ms, run_id, attempt_id, from_state, to_state) VALUES (${values})`;

  beforeEach(() => {
    home = makeDirectory();
    const path = join(home.dir, 'glovebox.db');
    createDatabaseFile(path);
    db = openDatabase({ path, busyTimeoutMs: 1000 });
    db.exec(entry("NULL, 1, 'r', 'a', NULL, 'QUEUED'"));
  });
  afterEach(() => {
    db.close();
    home.remove();
  });

  it('takes an entry that follows from the one before', () => {
    db.exec(entry("NULL, 2, 'r', 'a', 'QUEUED', 'RUNNING'"));
    db.exec(entry("NULL, 2, 'r', 'another', NULL, 'QUEUED'"));
    expect(db.prepare('SELECT count(*) AS n FROM journal').get()).toEqual({ n: 3 });
  });

  it.each([
    ['a change', "UPDATE journal SET to_state = 'SUCCEEDED'"],
    ['a removal', 'DELETE FROM journal'],
    ['a replacement', entry("1, 1, 'r', 'a', 'QUEUED', 'LOST'").replace('INSERT', 'INSERT OR REPLACE')],
    ['a gap', entry("5, 2, 'r', 'a', 'QUEUED', 'RUNNING'")],
    ['a second beginning', entry("NULL, 2, 'r', 'a', NULL, 'QUEUED'")],
    ['a step from elsewhere', entry("NULL, 2, 'r', 'a', 'RUNNING', 'SUCCEEDED'")],
    ['a step of an attempt that never began', entry("NULL, 2, 'r', 'b', 'QUEUED', 'RUNNING'")],
  ])('refuses %s', (_what, sql) => {
    expect(() => db.exec(sql)).toThrow(/journal/);
    expect(db.prepare('SELECT seq, to_state FROM journal').all()).toEqual([{ seq: 1, to_state: 'QUEUED' }]);
  });

  it('lets no attempt leave its end state', () => {
    db.exec(`
      INSERT INTO runs (id, project, mode, actor, node_id, node_version, node_revision, node_title, created_ms, attempt_id, state)
        VALUES ('r', 'p', 'trial', 'me', 'n', '1', 'x', 't', 1, 'a', 'QUEUED');
      INSERT INTO attempts (id, run_id, number, state, owner_instance, owner_boot_id, owner_pid, owner_start_ticks, created_ms)
        VALUES ('a', 'r', 1, 'QUEUED', 'i', 'b', 1, '2', 1);
      UPDATE attempts SET state = 'RUNNING';
      UPDATE attempts SET state = 'SUCCEEDED';`);
    expect(() => db.exec("UPDATE attempts SET state = 'FAILED'")).toThrow('the attempt has ended');
  });
});
