import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * Change the database of a data directory behind the product's back, as somebody would who has the file: what the schema
 * forbids is not forbidden to them. Its triggers are gone afterwards.
 */
export function tamper(dataDir: string, sql: string): void {
  tamperWith(join(dataDir, 'glovebox.db'), sql);
}

/** The same, of a database by its path. */
export function tamperWith(path: string, sql: string): void {
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: false });
  try {
    database.exec('PRAGMA busy_timeout = 5000; PRAGMA ignore_check_constraints = ON');
    const triggers = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all();
    for (const { name } of triggers) database.exec(`DROP TRIGGER ${String(name)}`);
    database.exec(sql);
  } finally {
    database.close();
  }
}
