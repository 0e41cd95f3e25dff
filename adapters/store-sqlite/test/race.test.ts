import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openStore } from '../src/index.ts';
import { createDatabaseFile } from '../src/open-database.ts';
import { checkDatabase } from './support/check-database.ts';
import { startChild } from './support/child.ts';
import { makeDraft, passedOf, steps } from './support/drafts.ts';
import { makeDirectory, makeRun } from './support/records.ts';

it('lets one process win each transition when several race for it', async () => {
  const home = makeDirectory();
  const path = join(home.dir, 'glovebox.db');
  const store = await openStore(path);
  const attempts: string[] = [];
  for (let i = 0; i < 30; i++) {
    const { run, attempt } = makeRun();
    await store.runs.create(run, attempt);
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
  expect((await store.runs.list({ project: 'default', limit: 100, state: 'SUCCEEDED' })).length).toBe(attempts.length);
  await store.close();
  expect(checkDatabase(path)).toEqual([]);
  home.remove();
});

it('lets one process validate each draft and one release it when several race for it, and audits just these in one chain', async () => {
  const home = makeDirectory();
  const path = join(home.dir, 'glovebox.db');
  const store = await openStore(path);
  const drafts = Array.from({ length: 25 }, (_, i) => makeDraft({ id: `node-${i}` }));
  for (const draft of drafts) await steps.put(store, draft);
  const race = async (transition: 'begin' | 'publish'): Promise<string[]> => {
    const children = ['a', 'b', 'c'].map((name) =>
      startChild('life-cycle-racer.ts', [path, transition, name, ...drafts.map(({ id }) => id)]),
    );
    const ends = await Promise.all(children.map(({ ended }) => ended));
    expect(ends).toEqual(children.map(() => ({ code: 0, signal: null, stderr: '' })));
    return children.flatMap(({ lines }) => lines).sort();
  };
  const once = (winner: string, loser: string): string[] =>
    drafts.flatMap(({ id }) => [`${id} ${winner}`, `${id} ${loser}`, `${id} ${loser}`]).sort();

  expect(await race('begin')).toEqual(once('begun', 'busy'));
  for (const draft of drafts) {
    const ended = await Promise.all(
      ['a', 'b', 'c'].map((name) => steps.end(store, draft, `${name} of ${draft.id}`, passedOf(draft))),
    );
    expect(ended.sort()).toEqual(['ended', 'stale', 'stale']);
  }
  expect(await race('publish')).toEqual(once('published', 'unchanged'));

  expect(await store.audit.head()).toMatchObject({ seq: 4 * drafts.length });
  expect(await store.releases.list({ project: 'default', limit: 100 })).toHaveLength(drafts.length);
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
    const store = await openStore(path, { inThread: true });
    expect(await store.runs.list({ project: 'default', limit: 100 })).toHaveLength(children.length);
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
