import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openStore } from '../src/index.ts';
import { migrations } from '../src/migrations.ts';
import { openDatabase } from '../src/open-database.ts';
import { checkDatabase } from './support/check-database.ts';
import { startChild } from './support/child.ts';
import { fractions } from './support/fractions.ts';
import { slowSteps } from './support/migrator.ts';
import { makeDirectory } from './support/records.ts';

describe.each(['worker', 'caller'])(
  'a process with its store in the %s thread, killed in the middle of writing',
  (thread) => {
    it('leaves a database in which all that was acknowledged is there and every attempt is where its journal ends', async () => {
      const home = makeDirectory();
      const path = join(home.dir, 'glovebox.db');
      const fraction = fractions(20_260_101);
      let acknowledged = 0;
      for (let round = 0; round < 6; round++) {
        const child = startChild('writer.ts', [path, thread]);
        // By what it has done, not by the clock, so that a busy machine does not make the rounds empty.
        const enough = 4 + fraction() * 20;
        while (child.lines.length < enough && child.process.exitCode === null) await setTimeout(1);
        await setTimeout(fraction() * 10);
        child.process.kill('SIGKILL');
        const { signal, stderr } = await child.ended;
        expect({ round, signal, stderr }).toEqual({ round, signal: 'SIGKILL', stderr: '' });

        expect(checkDatabase(path)).toEqual([]);
        const db = new DatabaseSync(path);
        const order = ['QUEUED', 'RUNNING', 'SUCCEEDED', 'TIMED_OUT'];
        for (const line of child.lines.slice(1)) {
          const [attempt = '', word = '', seq = ''] = line.split(' ');
          acknowledged++;
          if (word === 'log') {
            const { last } = db.prepare('SELECT max(seq) AS last FROM logs WHERE attempt_id = ?').get(attempt) as {
              last: number;
            };
            expect({ line, last }).toEqual({ line, last: Number(seq) });
          } else {
            const states = db
              .prepare('SELECT to_state FROM journal WHERE attempt_id = ?')
              .all(attempt)
              .map((row) => row.to_state);
            expect({ line, states }).toEqual({ line, states: expect.arrayContaining([word]) });
            expect(order).toContain(word);
          }
        }
        db.close();
      }
      expect(acknowledged).toBeGreaterThan(20);
      const store = await openStore(path);
      const open = await store.runs.markLost(() => true, 1);
      expect(open.length).toBeGreaterThan(0);
      await store.close();
      expect(checkDatabase(path)).toEqual([]);
      home.remove();
    });
  },
);

it('leaves the old or the new schema when it is killed in the middle of a migration, and the next opener finishes it', async () => {
  const fraction = fractions(7);
  let cutInTheMiddle = 0;
  for (let round = 0; round < 6; round++) {
    const home = makeDirectory();
    const path = join(home.dir, 'glovebox.db');
    openDatabase({ path, busyTimeoutMs: 1000 }).close();
    const child = startChild('migrator.ts', [path]);
    // The step writes more than the cache holds, so that its pages reach the log long before they are committed.
    const threshold = fraction() * 1_500_000;
    while (logBytes(path) <= threshold && child.process.exitCode === null) await setImmediate();
    child.process.kill('SIGKILL');
    await child.ended;
    const written = logBytes(path);

    const db = new DatabaseSync(path);
    const { user_version: version } = db.prepare('PRAGMA user_version').get() as { user_version: number };
    const tables = db.prepare("SELECT name FROM sqlite_schema WHERE name IN ('numbers', 'marks')").all();
    expect({ version, tables: tables.length }).toEqual(
      version === migrations.length ? { version, tables: 0 } : { version: migrations.length + 1, tables: 2 },
    );
    if (version === migrations.length && written > 0) cutInTheMiddle++;
    db.close();

    const whole = openDatabase({ path, busyTimeoutMs: 10_000 }, slowSteps);
    expect(
      whole.prepare('SELECT (SELECT count(*) FROM numbers) AS numbers, (SELECT count(*) FROM marks) AS marks').get(),
    ).toEqual({ numbers: 200_000, marks: 1 });
    whole.close();
    home.remove();
  }
  expect(cutInTheMiddle).toBeGreaterThan(0);
});

/** Size of the write-ahead log; 0 where there is none. */
function logBytes(path: string): number {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
}
