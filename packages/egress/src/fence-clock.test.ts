import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { bootClockMs } from './boot-clock.ts';
import { openFenceClock } from './fence-clock.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'], now: 1_000_000 });
});
afterEach(() => {
  vi.useRealTimers();
});

/** Counts how often the boot clock is read; each reading is another. */
function counted() {
  let reads = 0;
  return openFenceClock(() => ++reads);
}

it('reads once for all who ask within a millisecond, and anew after it', () => {
  const clock = counted();
  expect([clock(), clock(), clock()]).toEqual([1, 1, 1]);
  vi.advanceTimersByTime(1);
  expect([clock(), clock()]).toEqual([2, 2]);
});

it.each([
  ['forwards, as after the host slept', 5000],
  ['backwards', -5000],
])('reads anew when the wall clock has moved %s, though the monotonic one stood still', (_, byMs) => {
  const clock = counted();
  expect(clock()).toBe(1);
  vi.setSystemTime(Date.now() + byMs);
  expect([clock(), clock()]).toEqual([2, 2]);
});

it('tells what the boot clock tells', () => {
  vi.useRealTimers();
  const clock = openFenceClock();
  const before = bootClockMs();
  const told = clock();
  expect(told).toBeGreaterThanOrEqual(before);
  expect(told).toBeLessThanOrEqual(bootClockMs());
});
