import { expect, it } from 'vitest';
import { createTurns } from './turns.ts';

/** Work that lasts until it is ended by hand. */
function someWork(turns: ReturnType<typeof createTurns>, begun: string[]) {
  const begin = (name: string, signal?: AbortSignal) => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const done = turns.take(() => {
      begun.push(name);
      return promise;
    }, signal);
    return { done, end: () => resolve(name), fail: () => reject(new Error(name)) };
  };
  return begin;
}

const settle = async (): Promise<void> => {
  for (let i = 0; i < 10; i++) await Promise.resolve();
};

it('lets one work at a time on a small machine, the others in their order, also after one that failed', async () => {
  const begun: string[] = [];
  const begin = someWork(createTurns(2), begun);
  const [a, b, c] = [begin('a'), begin('b'), begin('c')];
  await settle();
  expect(begun).toEqual(['a']);
  a.fail();
  await expect(a.done).rejects.toThrow('a');
  await settle();
  expect(begun).toEqual(['a', 'b']);
  b.end();
  expect(await b.done).toBe('b');
  await settle();
  expect(begun).toEqual(['a', 'b', 'c']);
  c.end();
  await c.done;
});

it('does not keep who is stopped waiting, nor gives the turn that was theirs away twice', async () => {
  const begun: string[] = [];
  const begin = someWork(createTurns(2), begun);
  const stop = new AbortController();
  const [a, b, c] = [begin('a'), begin('b', stop.signal), begin('c')];
  stop.abort();
  await settle();
  expect(begun).toEqual(['a', 'b']);
  b.end();
  await b.done;
  await settle();
  expect(begun).toEqual(['a', 'b']);
  a.end();
  await settle();
  expect(begun).toEqual(['a', 'b', 'c']);
  c.end();
  await Promise.all([a.done, c.done]);
});

it.each([
  [1, 1, 2],
  [2, 1, 2],
  [4, 1, 4],
  [8, 2, 4],
  [64, 16, 4],
])('of %i processors, lets %i work with %i cells each', async (processors, atOnce, cells) => {
  const turns = createTurns(processors);
  const begun: string[] = [];
  const begin = someWork(turns, begun);
  const all = Array.from({ length: 20 }, (_, n) => begin(String(n)));
  await settle();
  expect([begun.length, turns.cells]).toEqual([atOnce, cells]);
  for (const { end } of all) end();
  await Promise.all(all.map(({ done }) => done));
  expect(begun).toHaveLength(20);
});
