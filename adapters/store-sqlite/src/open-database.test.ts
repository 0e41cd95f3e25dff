import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { AuditEvent } from '@glovebox/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkDatabase } from '../test/support/check-database.ts';
import { makeDirectory, makeRun } from '../test/support/records.ts';
import { openStore } from './index.ts';
import { migrations, type Step } from './migrations.ts';
import { openDatabase, refuseDamagingSqlite } from './open-database.ts';

let home: ReturnType<typeof makeDirectory>;
let path: string;

beforeEach(() => {
  home = makeDirectory();
  path = join(home.dir, 'glovebox.db');
});
afterEach(() => home.remove());

async function expectRefusal(code: string, at = path): Promise<void> {
  for (const inThread of [true, false]) {
    await expect(openStore(at, { inThread, busyTimeoutMs: 200 })).rejects.toMatchObject({
      name: 'GloveboxError',
      code,
    });
  }
}

async function makeDatabase(): Promise<void> {
  const store = await openStore(path, { inThread: true });
  for (let i = 0; i < 20; i++) {
    const { run, attempt } = makeRun({ inputText: JSON.stringify('x'.repeat(20_000)) });
    await store.runs.create(run, attempt);
  }
  await store.close();
}

describe('opening a database', () => {
  it('puts every safeguard in force', () => {
    const db = openDatabase({ path, busyTimeoutMs: 1234 });
    const value = (pragma: string): unknown => Object.values(db.prepare(`PRAGMA ${pragma}`).get() ?? {})[0];
    expect({
      journal: value('journal_mode'),
      synchronous: value('synchronous'),
      foreignKeys: value('foreign_keys'),
      trustedSchema: value('trusted_schema'),
      busyTimeout: value('busy_timeout'),
      version: value('user_version'),
    }).toEqual({
      journal: 'wal',
      synchronous: 2,
      foreignKeys: 1,
      trustedSchema: 0,
      busyTimeout: 1234,
      version: migrations.length,
    });
    expect(() => db.exec('PRAGMA writable_schema = ON; DELETE FROM sqlite_schema')).toThrow(/may not be modified/);
    expect(() => db.exec(`ATTACH '${join(home.dir, 'other.db')}' AS other`)).toThrow(/too many attached/);
    const strict = db
      .prepare("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND strict = 0")
      .all();
    expect(strict.map((row) => row.name).filter((name) => !String(name).startsWith('sqlite_'))).toEqual([]);
    db.close();
  });

  it('opens its own file again, with what was in it', async () => {
    await makeDatabase();
    const store = await openStore(path);
    expect(await store.runs.list({ project: 'default', limit: 100 })).toHaveLength(20);
    await store.close();
  });

  const created: AuditEvent = {
    atMs: 1,
    actor: 'local:uid=0',
    project: 'default',
    action: 'instance.created',
    subject: 'an instance',
    details: {},
  };

  it.each([true, false])(
    'begins the audit chain of a new one, once, with what it is told (in thread: %s)',
    async (inThread) => {
      for (let opened = 0; opened < 2; opened++) {
        const store = await openStore(path, { inThread, created });
        expect(await store.audit.list({ limit: 10 })).toMatchObject([{ seq: 1, ...created }]);
        await store.close();
      }
      expect(checkDatabase(path)).toEqual([]);
    },
  );

  it.each(migrations.map((_, done) => done).slice(1))(
    'tells nothing of the making of one that was there at schema %s',
    async (done) => {
      openDatabase({ path, busyTimeoutMs: 1000 }, migrations.slice(0, done)).close();
      const store = await openStore(path, { inThread: true, created });
      expect(await store.audit.head()).toBeUndefined();
      await store.close();
      expect(checkDatabase(path)).toEqual([]);
    },
  );

  it('makes a new one whole or not at all', () => {
    const failing: Step = () => {
      throw new Error('killed in the last step');
    };
    expect(() => openDatabase({ path, busyTimeoutMs: 1000, created }, [...migrations, failing])).toThrow('killed');
    const db = new DatabaseSync(path);
    expect(
      db
        .prepare(
          'SELECT (SELECT user_version FROM pragma_user_version) AS version, count(*) AS tables FROM sqlite_schema',
        )
        .get(),
    ).toEqual({ version: 0, tables: 0 });
    db.close();
    const made = openDatabase({ path, busyTimeoutMs: 1000, created });
    expect(made.prepare('SELECT seq, action FROM audit').all()).toEqual([{ seq: 1, action: 'instance.created' }]);
    made.close();
  });

  it('refuses a database of a newer version and touches nothing', async () => {
    await makeDatabase();
    const db = new DatabaseSync(path);
    db.exec(`PRAGMA user_version = ${migrations.length + 1}`);
    db.close();
    const before = readFileSync(path);
    await expectRefusal('STORE_TOO_NEW');
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(readdirSync(home.dir)).toEqual(['glovebox.db']);
  });

  it('refuses a database of another program and touches nothing', async () => {
    const db = new DatabaseSync(path);
    db.exec('CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)');
    db.close();
    const before = readFileSync(path);
    await expectRefusal('STORE_CORRUPTED');
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('refuses a file that is no database and touches nothing', async () => {
    writeFileSync(path, 'once upon a time '.repeat(500));
    const before = readFileSync(path);
    await expectRefusal('STORE_CORRUPTED');
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  it('tells of damage that it meets on a page, at the call that reads it', async () => {
    await makeDatabase();
    const { page_size: pageSize } = new DatabaseSync(path, { readOnly: true }).prepare('PRAGMA page_size').get() as {
      page_size: number;
    };
    const file = openSync(path, 'r+');
    // All pages but the first: the header and the schema's root stay readable.
    const size = readFileSync(path).length;
    for (let at = pageSize; at < size; at += pageSize) writeSync(file, Buffer.alloc(pageSize, 0xa5), 0, pageSize, at);
    closeSync(file);
    for (const inThread of [true, false]) {
      const failure = await openStore(path, { inThread }).then(
        async (store) => {
          const error = await store.runs.list({ project: 'default', limit: 5 }).catch((thrown: unknown) => thrown);
          await store.close();
          return error;
        },
        (thrown: unknown) => thrown,
      );
      expect(failure).toMatchObject({ name: 'GloveboxError', code: 'STORE_CORRUPTED' });
    }
  });

  it('tells of a file that was cut short', async () => {
    await makeDatabase();
    truncateSync(path, 6000);
    const failure = await openStore(path, { inThread: true })
      .then(async (store) => {
        const error = await store.runs.list({ project: 'default', limit: 5 }).catch((thrown: unknown) => thrown);
        await store.close();
        return error;
      })
      .catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: 'STORE_CORRUPTED' });
  });

  it('refuses a directory that is not there, a directory in the place of the file, and a file in the place of the directory', async () => {
    await expectRefusal('DATA_DIR_UNUSABLE', join(home.dir, 'missing', 'glovebox.db'));
    mkdirSync(path);
    await expectRefusal('DATA_DIR_UNUSABLE');
    writeFileSync(join(home.dir, 'file'), '');
    await expectRefusal('DATA_DIR_UNUSABLE', join(home.dir, 'file', 'glovebox.db'));
  });

  it.skipIf(process.getuid?.() !== 0)('refuses a file system that is read-only', async () => {
    await makeDatabase();
    const mount = (...args: string[]): unknown => execFileSync('mount', args, { stdio: 'pipe' });
    mount('--bind', home.dir, home.dir);
    try {
      mount('-o', 'remount,bind,ro', home.dir);
      await expectRefusal('DATA_DIR_UNUSABLE');
      await expectRefusal('DATA_DIR_UNUSABLE', join(home.dir, 'new.db'));
    } finally {
      execFileSync('umount', [home.dir]);
    }
    const store = await openStore(path);
    expect(await store.runs.list({ project: 'default', limit: 100 })).toHaveLength(20);
    await store.close();
    expect(checkDatabase(path)).toEqual([]);
  });
});

describe('the release of SQLite', () => {
  it.each(['3.44.5', '3.45.0', '3.50.6', '3.51.2', '3.7.0', '', 'x'])(
    'refuses %j, which may damage a WAL database',
    (version) => {
      expect(() => refuseDamagingSqlite(version)).toThrow(expect.objectContaining({ code: 'HOST_UNSUPPORTED' }));
    },
  );

  it.each(['3.44.6', '3.50.7', '3.51.3', '3.52.0', '3.54.0', '4.0.0'])('accepts %j', (version) => {
    expect(() => refuseDamagingSqlite(version)).not.toThrow();
  });

  it('accepts the one in use', () => {
    expect(() => refuseDamagingSqlite(process.versions.sqlite ?? '')).not.toThrow();
  });
});
