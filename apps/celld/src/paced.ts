import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Do something that is dear to the host for all who ask: once for those who wait, and not again before `everyMs` are over.
 * Nobody gets an answer that was begun before the question.
 */
export function paced<Result>(everyMs: number, action: () => Promise<Result>): () => Promise<Result> {
  let before: Promise<unknown> = Promise.resolve();
  let nextMs = Number.NEGATIVE_INFINITY;
  let waiting: Promise<Result> | undefined;
  const next = async (): Promise<Result> => {
    await before;
    await sleep(Math.max(0, nextMs - performance.now()));
    nextMs = performance.now() + everyMs;
    before = (waiting as Promise<Result>).catch(() => {});
    waiting = undefined;
    return action();
  };
  return () => {
    waiting ??= next();
    return waiting;
  };
}
