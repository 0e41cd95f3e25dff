import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { paced } from './paced.ts';

it('does once for all who wait, not before the pace allows it, and for nobody who asked later', async () => {
  const begun: number[] = [];
  const ask = paced(200, async () => {
    begun.push(performance.now());
    await sleep(50);
    return begun.length;
  });
  expect(await Promise.all(Array.from({ length: 100 }, () => ask()))).toEqual(Array(100).fill(1));
  const second = ask();
  await sleep(170);
  // The second is under way, so what it finds is from before this question.
  const third = ask();
  expect(await Promise.all([second, third, ask()])).toEqual([2, 3, 3]);
  for (const [at, next] of [
    [begun[0], begun[1]],
    [begun[1], begun[2]],
  ] as [number, number][]) {
    expect(next - at).toBeGreaterThan(195);
  }
});

it('is done again after one that failed', async () => {
  let count = 0;
  const ask = paced(1, async () => {
    count++;
    if (count === 1) throw new Error('no');
    return count;
  });
  await expect(ask()).rejects.toThrow('no');
  expect(await ask()).toBe(2);
});
