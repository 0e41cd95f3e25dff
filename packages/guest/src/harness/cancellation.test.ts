import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { Cancellation } from './cancellation.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
const notice = { reason: 'by hand', graceMs: 2000 };

it('calls who still waits, once each, and nobody who has left', () => {
  const cancellation = new Cancellation();
  const called: number[] = [];
  const forget = Array.from({ length: 7 }, (_, i) => cancellation.onCancel(() => called.push(i)));
  // The first, the last, two in the middle that are neighbours, and one twice.
  for (const i of [0, 6, 3, 4, 3]) forget[i]?.();
  cancellation.cancel(notice);
  cancellation.cancel(notice);
  for (const one of forget) one();
  expect(called.sort()).toEqual([1, 2, 5]);
  expect(cancellation.signal.aborted).toBe(true);
});

it('calls all, whoever leaves while they are called', () => {
  const cancellation = new Cancellation();
  const called: string[] = [];
  const forget: Record<string, () => void> = {};
  for (const name of ['a', 'b', 'c'])
    forget[name] = cancellation.onCancel(() => {
      called.push(name);
      forget[name]?.();
    });
  cancellation.cancel(notice);
  expect(called.sort()).toEqual(['a', 'b', 'c']);
});

it('keeps nothing of who has left, though somebody always waits', async () => {
  const cancellation = new Cancellation();
  const left: WeakRef<() => void>[] = [];
  let leave = cancellation.onCancel(() => undefined);
  for (let i = 0; i < 1000; i++) {
    const listener = () => undefined;
    left.push(new WeakRef(listener));
    const next = cancellation.onCancel(listener);
    leave();
    leave = next;
  }
  await new Promise((resolve) => setImmediate(resolve));
  collect();
  expect(left.filter((ref) => ref.deref() !== undefined).length).toBeLessThan(10);
  leave();
});
