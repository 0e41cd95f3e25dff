import { availableParallelism } from 'node:os';

/** Lets a few work at a time, and the others in the order in which they came. */
export interface Turns {
  /** How many cells each may have alive meanwhile. */
  readonly cells: number;
  /**
   * Do work when its turn comes, which ends with it. Where `signal` is aborted while it waits, it begins at once, to find
   * that out as it would later: it must not boot anything then.
   */
  take<Value>(work: () => Promise<Value>, signal: AbortSignal | undefined): Promise<Value>;
}

/**
 * Turns of those who boot cells to check something, for all of a process: a cell keeps about one processor busy, and one of
 * the builder may hold a gigabyte. They wait before their clocks start, so that none is out of time because of another.
 */
export function createTurns(processors: number = availableParallelism()): Turns {
  // Four is about as many cells as the checks of one package find use for.
  let free = Math.max(1, Math.floor(processors / 4));
  const cells = Math.max(2, Math.floor(processors / free));
  const waiting = new Set<() => void>();
  const begun = (signal: AbortSignal | undefined): Promise<'turn' | 'aborted'> =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve('aborted');
      if (free > 0) {
        free--;
        return resolve('turn');
      }
      const abort = (): void => {
        waiting.delete(begin);
        resolve('aborted');
      };
      const begin = (): void => {
        signal?.removeEventListener('abort', abort);
        resolve('turn');
      };
      waiting.add(begin);
      signal?.addEventListener('abort', abort, { once: true });
    });
  const end = (): void => {
    const [next] = waiting;
    if (next === undefined) free++;
    else {
      waiting.delete(next);
      next();
    }
  };
  return {
    cells,
    async take(work, signal) {
      const state = await begun(signal);
      try {
        return await work();
      } finally {
        if (state === 'turn') end();
      }
    },
  };
}
