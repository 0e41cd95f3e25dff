import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openRunStore } from '../src/index.ts';
import { createDatabaseFile } from '../src/open-database.ts';
import { checkDatabase } from './support/check-database.ts';
import { startChild } from './support/child.ts';
import { makeDirectory, makeRun } from './support/records.ts';

it('lets one process win each transition when several race for it', async () => {
  const home = makeDirectory();
  const path = join(home.dir, 'glovebox.db');
  const store = await openRunStore(path);
  const attempts: string[] = [];
  for (let i = 0; i < 30; i++) {
    const { run, attempt } = makeRun();
    await store.create(run, attempt);
    attempts.push(attempt.id);
  }
  const children = [0, 1, 2, 3].map(() => startChild('racer.ts', [path, ...attempts]));
  const ends = await Promise.all(children.map(({ ended }) => ended));
  expect(ends).toEqual(children.map(() => ({ code: 0, signal: null, stderr: '' })));
  // Some may have been ended by a faster process while a slower one was still beginning, but none twice.
  const won = children.flatMap(({ lines }) => lines);
  const finished = won.filter((line) => line.endsWith(' finished'));
  expect(finished.sort()).toEqual(attempts.map((id) => `${id} finished`).sort());
  expect(new Set(won).size).toBe(won.length);
  expect((await store.list({ project: 'default', limit: 100, state: 'SUCCEEDED' })).length).toBe(attempts.length);
  await store.close();
  expect(checkDatabase(path)).toEqual([]);
  home.remove();
});

it('opens in several processes at once where there was no database, and makes the schema once', async () => {
  for (let round = 0; round < 2; round++) {
    const home = makeDirectory();
    const path = join(home.dir, 'glovebox.db');
    const children = [0, 1, 2, 3].map(() => startChild('leaver.ts', [path]));
    const ends = await Promise.all(children.map(({ ended }) => ended));
    expect(ends).toEqual(children.map(() => ({ code: 0, signal: null, stderr: '' })));
    const store = await openRunStore(path, { inThread: true });
    expect(await store.list({ project: 'default', limit: 100 })).toHaveLength(children.length);
    await store.close();
    expect(checkDatabase(path)).toEqual([]);
    home.remove();
  }
});

it('migrates once when several processes meet an old schema', async () => {
  const home = makeDirectory();
  const path = join(home.dir, 'glovebox.db');
  createDatabaseFile(path);
  const children = [0, 1, 2].map(() => startChild('migrator.ts', [path]));
  const ends = await Promise.all(children.map(({ ended }) => ended));
  expect(ends).toEqual(children.map(() => ({ code: 0, signal: null, stderr: '' })));
  expect(children.map(({ lines }) => lines)).toEqual([['open'], ['open'], ['open']]);
  home.remove();
});
