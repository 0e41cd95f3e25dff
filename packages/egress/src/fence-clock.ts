import { bootClockMs } from './boot-clock.ts';

/** How long a reading counts. The clock itself goes in steps of ten times that. */
const keptMs = 1;

/**
 * The boot clock for whoever asks it before every piece: a reading opens and reads a file, and counts for 1 ms.
 *
 * While a process is stopped the monotonic clock goes on, and while the host sleeps the wall clock makes up for it by as much
 * as the boot clock does; so what woke late reads anew, and so does whoever finds the wall clock moved by anybody.
 */
export function openFenceClock(read: () => number = bootClockMs): () => number {
  let last: { bootMs: number; monotonicMs: number; wallMs: number } | undefined;
  return () => {
    const monotonicMs = performance.now();
    const wallMs = Date.now();
    const isFresh =
      last !== undefined && monotonicMs - last.monotonicMs < keptMs && Math.abs(wallMs - last.wallMs) <= keptMs;
    if (last === undefined || !isFresh) last = { bootMs: read(), monotonicMs, wallMs };
    return last.bootMs;
  };
}
