import { setImmediate as turn } from 'node:timers/promises';
import type { EgressLog, EgressLogEntry } from '@glovebox/engine';
import { expect, it } from 'vitest';
import { groupAppends } from './egress-groups.ts';

/** Of whom nothing but the name counts here. */
const records = (...names: string[]) => names.map((project) => ({ project }) as EgressLogEntry);

/** A log whose transactions end when a test says so. */
function openLog() {
  const transactions: { names: string[]; commit(): void; fail(error: unknown): void }[] = [];
  const append: EgressLog['append'] = (entries) =>
    new Promise((resolve, reject) =>
      transactions.push({ names: entries.map(({ project }) => project), commit: resolve, fail: reject }),
    );
  return { transactions, ...groupAppends(append) };
}

it('writes what was asked for during a transaction in the next one, and tells each when its own is kept', async () => {
  const { transactions, append } = openLog();
  const settled: string[] = [];
  const told = (name: string) => () => void settled.push(name);
  const all = [
    append(records('a')).then(told('a')),
    append(records('b', 'c')).then(told('bc')),
    append(records('d')).then(told('d')),
  ];
  expect(transactions.map(({ names }) => names)).toEqual([['a']]);
  transactions[0]?.commit();
  await turn();
  expect(settled).toEqual(['a']);
  expect(transactions.map(({ names }) => names)).toEqual([['a'], ['b', 'c', 'd']]);
  transactions[1]?.commit();
  await Promise.all(all);
  expect(settled).toEqual(['a', 'bc', 'd']);
});

it('lets none fail for another: of a group that is refused each goes by itself', async () => {
  const { transactions, append } = openLog();
  const first = append(records('a'));
  const bad = append(records('bad')).catch((error: unknown) => error);
  const good = append(records('good'));
  transactions[0]?.commit();
  await first;
  await turn();
  transactions[1]?.fail(new Error('together'));
  await turn();
  const alone = new Error('alone');
  transactions[2]?.fail(alone);
  await turn();
  transactions[3]?.commit();
  expect(await bad).toBe(alone);
  await good;
  expect(transactions.map(({ names }) => names)).toEqual([['a'], ['bad', 'good'], ['bad'], ['good']]);
});

it('goes on after a call that was refused', async () => {
  const { transactions, append } = openLog();
  const refused = append(records('a')).catch(() => 'refused');
  transactions[0]?.fail(new Error('full'));
  expect(await refused).toBe('refused');
  const kept = append(records('b'));
  await turn();
  transactions[1]?.commit();
  await kept;
});

it('is idle when the last of what waited is kept', async () => {
  const { transactions, append, idle } = openLog();
  expect(idle()).toBeUndefined();
  const all = [append(records('a')), append(records('b'))];
  let isIdle = false;
  const waited = idle()?.then(() => {
    isIdle = true;
  });
  transactions[0]?.commit();
  await turn();
  expect(isIdle).toBe(false);
  transactions[1]?.commit();
  await Promise.all([...all, waited]);
});

it('takes 1,000 records at once at most, but for a call that has more', async () => {
  const { transactions, append } = openLog();
  const many = (count: number) => records(...new Array<string>(count).fill('x'));
  const all = [1, 600, 600, 3000, 1].map((count) => append(many(count)));
  for (let at = 0; at < 5; at++) {
    await turn();
    transactions[at]?.commit();
  }
  await Promise.all(all);
  expect(transactions.map(({ names }) => names.length)).toEqual([1, 600, 600, 3000, 1]);
});
