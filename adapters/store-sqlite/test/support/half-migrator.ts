/**
 * Brings a database of the first schema up to date and dies by SIGKILL on the way:
 * `half-migrator.ts <database> <statements>` within the second step, after that many statements of it;
 * `half-migrator.ts <database> third` within the third, when all of it is written.
 */
import { DatabaseSync } from 'node:sqlite';
import { migrations, type Step } from '../../src/migrations.ts';
import { migrate } from '../../src/open-database.ts';

const [first = '', second = '', third = ''] = migrations;

/** The statements of the second step. Those within a trigger stand deeper. */
export const statements = String(second).split(/(?<=;)\s*\n(?= {2}(?:CREATE|ALTER|--))/);

/** The schema, with a death in it. */
function deadly(where: string): Step[] {
  if (where !== 'third') {
    const count = Number(where);
    return [first, [...statements.slice(0, count), 'SELECT die();', ...statements.slice(count)].join('\n'), third];
  }
  const dying: Step = (db) => {
    if (typeof third === 'function') third(db);
    db.exec('SELECT die()');
  };
  return [first, second, dying];
}

if (process.argv[1] === import.meta.filename) {
  const [path = '', where = ''] = process.argv.slice(2);
  const db = new DatabaseSync(path);
  // With next to no cache, pages reach the log as soon as they are written, long before they are committed.
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = 1');
  db.function('die', () => {
    process.kill(process.pid, 'SIGKILL');
    return null;
  });
  migrate(db, path, deadly(where));
  console.log('migrated');
}
