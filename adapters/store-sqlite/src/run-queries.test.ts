import { join } from 'node:path';
import { expect, it } from 'vitest';
import { makeDirectory } from '../test/support/records.ts';
import { openDatabase } from './open-database.ts';
import { listStatement } from './run-queries.ts';
import { openAttemptsSql } from './run-transitions.ts';

it('reads each page of a list along an index, without a scan or a sort, among 100,000 runs', () => {
  const home = makeDirectory();
  const db = openDatabase({ path: join(home.dir, 'glovebox.db'), busyTimeoutMs: 1000 });
  db.exec(`
    INSERT INTO runs (id, project, mode, actor, node_id, node_version, node_revision, node_title, created_ms, attempt_id, state)
    WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 100000)
    SELECT printf('run_%022d', n), 'default', 'trial', 'me', 'node-' || (n % 7), '1.0.0', 'r', 't', n, printf('att_%022d', n),
      CASE WHEN n % 1000 = 0 THEN 'LOST' ELSE 'SUCCEEDED' END FROM up`);
  const last = 'run_0000000000000000050000';
  const queries = [
    {},
    { before: last },
    { node: 'node-3', before: last },
    { state: 'LOST', before: last },
    { node: 'node-3', state: 'LOST', before: last },
  ];
  for (const filters of queries) {
    const { sql, values } = listStatement({ project: 'default', limit: 20, ...filters });
    const plan = db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...values)
      .map((row) => String(row.detail));
    expect(plan).toHaveLength(1);
    expect(plan[0]).toMatch(/^SEARCH runs USING INDEX runs_by_/);
    expect(db.prepare(sql).all(...values).length).toBeGreaterThan(3);
  }
  const plan = db.prepare(`EXPLAIN QUERY PLAN ${openAttemptsSql}`).all();
  expect(plan.map((row) => row.detail)).toEqual(['SCAN attempts USING INDEX attempts_open']);
  db.close();
  home.remove();
});
