/**
 * Opens a database with a schema of its own, whose second step takes a while: `migrator.ts <database>`. Tells `open` once
 * the schema is up to date.
 */
import { migrations } from '../../src/migrations.ts';
import { openDatabase } from '../../src/open-database.ts';

export const slowSteps = [
  ...migrations,
  `CREATE TABLE numbers (n INTEGER NOT NULL) STRICT;
   INSERT INTO numbers WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 200000) SELECT n FROM up;
   CREATE TABLE marks (n INTEGER NOT NULL) STRICT;
   INSERT INTO marks VALUES (1);`,
];

if (process.argv[1] === import.meta.filename) {
  const [path = ''] = process.argv.slice(2);
  openDatabase({ path, busyTimeoutMs: 60_000 }, slowSteps).close();
  console.log('open');
}
