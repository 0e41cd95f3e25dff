import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import type { AuditEvent } from '@glovebox/contract';
import { GloveboxError } from '@glovebox/contract/errors';
import { appendAudit } from './audit-chain.ts';
import { isBusy, storeError } from './failures.ts';
import type { OpenOptions } from './messages.ts';
import { applicationId, migrations, type Step } from './migrations.ts';
import { Statements } from './statements.ts';

/**
 * Releases that cannot damage a WAL database by a reset at the wrong moment (sqlite.org/wal.html#walresetbug): 3.51.3 and
 * later, and the older lines that got the repair.
 */
const repairedVersions = [
  [3, 44, 6],
  [3, 50, 7],
  [3, 51, 3],
] as const;

/**
 * Make the file, readable by its owner only, where there is none: SQLite would give it the mode that the umask leaves, and
 * its side files take the mode of the database.
 *
 * Called before any connection of this process is open: closing a descriptor drops every lock that the process holds on
 * the file, so an existing file is never opened here.
 */
export function createDatabaseFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw storeError(error, path);
  }
}

/**
 * Open the database and bring its schema up to date.
 *
 * @throws GloveboxError `DATA_DIR_UNUSABLE`, `DISK_FULL`, `STORE_BUSY`, `STORE_CORRUPTED`, `STORE_TOO_NEW` (with nothing
 * changed), `HOST_UNSUPPORTED` for a SQLite that may damage the file.
 */
export function openDatabase(
  { path, busyTimeoutMs, created }: OpenOptions,
  steps: readonly Step[] = migrations,
): DatabaseSync {
  refuseDamagingSqlite(process.versions.sqlite ?? '');
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(path, {
      timeout: busyTimeoutMs,
      enableForeignKeyConstraints: true,
      enableDoubleQuotedStringLiterals: false,
      allowExtension: false,
      defensive: true,
      limits: { attach: 0 },
    });
    // Functions and virtual tables named in a schema that someone else wrote are not called.
    db.exec('PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA recursive_triggers = ON;');
    refuseForeign(db, path, steps.length);
    const opened = db;
    retryWhileBusy(busyTimeoutMs, () => opened.exec('PRAGMA journal_mode = WAL'));
    db.exec('PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY;');
    migrate(db, path, steps, created);
    return db;
  } catch (error) {
    db?.close();
    throw storeError(error, path);
  }
}

/**
 * Apply the steps that are missing, each in one transaction with its number, so that a crash leaves the database before
 * or after a step. One that is new gets all of them in one, with the first entry of its audit chain: there is no database
 * without it that is not an older one. Processes that open at once wait for each other, and the later ones find nothing
 * left to do.
 */
export function migrate(db: DatabaseSync, path: string, steps: readonly Step[], created?: AuditEvent): void {
  while (userVersion(db) < steps.length) {
    db.exec('BEGIN IMMEDIATE');
    try {
      // Read again: another process may have done it while this one waited.
      const version = userVersion(db);
      const next = version === 0 ? steps.length : version + 1;
      for (const [i, step] of steps.slice(version, next).entries()) {
        if (typeof step === 'string') db.exec(step);
        else step(db);
        db.exec(`PRAGMA user_version = ${version + i + 1}`);
      }
      if (version === 0 && created !== undefined) appendAudit(new Statements(db), created);
      db.exec('COMMIT');
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    }
  }
  refuseForeign(db, path, steps.length);
}

function refuseForeign(db: DatabaseSync, path: string, known: number): void {
  // One statement, so one snapshot: another process may be creating the tables at this moment.
  const { version, owner, tables } = db
    .prepare(
      `SELECT (SELECT user_version FROM pragma_user_version) AS version,
              (SELECT application_id FROM pragma_application_id) AS owner,
              (SELECT count(*) FROM sqlite_schema) AS tables`,
    )
    .get() as { version: number; owner: number; tables: number };
  const place = { file: path };
  // A file of another program is never migrated into.
  if (tables > 0 && owner !== applicationId) {
    throw new GloveboxError('STORE_CORRUPTED', { message: `${path} is a database of something else`, place });
  }
  if (version > known) {
    throw new GloveboxError('STORE_TOO_NEW', {
      message: `${path} has schema ${version}; this version knows ${known}`,
      place,
    });
  }
}

function userVersion(db: DatabaseSync): number {
  return (db.prepare('PRAGMA user_version').get() as { user_version: number }).user_version;
}

/** Refuse a SQLite that may damage the file. Exported for its test. */
export function refuseDamagingSqlite(version: string): void {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map(Number);
  const newer = major > 3 || (major === 3 && minor > 51);
  const repaired = repairedVersions.some(([a, b, c]) => major === a && minor === b && patch >= c);
  if (newer || repaired) return;
  throw new GloveboxError('HOST_UNSUPPORTED', {
    message: `SQLite ${version} may damage its database; 3.51.3 or later is needed`,
    hint: 'Use the Node.js that comes with Glovebox.',
  });
}

/**
 * Going over to WAL needs the file alone, and SQLite may answer "busy" at once where waiting could block two openers for
 * ever. Repeated here, until the time is up.
 */
function retryWhileBusy(timeoutMs: number, action: () => void): void {
  const deadline = performance.now() + timeoutMs;
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 50)) {
    try {
      action();
      return;
    } catch (error) {
      if (!isBusy(error) || performance.now() >= deadline) throw error;
      Atomics.wait(sleeper, 0, 0, pauseMs);
    }
  }
}
