import fc from 'fast-check';
import { expect, it } from 'vitest';
import { OpenLimit, OpenPacer } from './open-rate.ts';

it('admits so many in any one second, and not one more', () => {
  const limit = new OpenLimit(3);
  expect([0, 1, 999].map((ms) => limit.admit(ms))).toEqual([true, true, true]);
  expect(limit.admit(1000)).toBe(false);
  expect(limit.admit(1000.1)).toBe(true);
  expect(limit.admit(1000.9)).toBe(false);
  expect(limit.admit(1001.1)).toBe(true);
});

/** A client that opens whenever its pacer lets it, and a server that reads in bursts: whatever the delays, by a clock of the test. */
function conversation(
  perSecond: number,
  delaysMs: readonly number[],
  pacer: { wait(nowMs: number): number | 'until-seen' },
  seen: (nowMs: number) => void,
  opened: () => void,
): { verdicts: boolean[]; waits: number } {
  const limit = new OpenLimit(perSecond);
  const verdicts: boolean[] = [];
  let nowMs = 0;
  let waits = 0;
  for (const delayMs of delaysMs) {
    let sent = 0;
    // All that may go, goes; the server reads it together, later; its answers are read later still.
    while (sent < 64 && pacer.wait(nowMs) === 0) {
      opened();
      sent++;
    }
    nowMs += delayMs;
    for (let i = 0; i < sent; i++) verdicts.push(limit.admit(nowMs));
    nowMs += delayMs / 3;
    for (let i = 0; i < sent; i++) seen(nowMs);
    const wait = pacer.wait(nowMs);
    if (wait === 0) continue;
    waits++;
    nowMs += wait === 'until-seen' ? 0 : wait;
  }
  return { verdicts, waits };
}

it('a client that paces itself by what the server has seen is never refused, however late anybody reads', () => {
  let most = 0;
  let paused = 0;
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 50 }),
      fc.array(fc.double({ min: 0, max: 3000, noNaN: true }), { minLength: 5, maxLength: 60 }),
      (perSecond, delaysMs) => {
        const pacer = new OpenPacer(perSecond);
        const { verdicts, waits } = conversation(
          perSecond,
          delaysMs,
          pacer,
          (ms) => pacer.seen(ms),
          () => pacer.opened(),
        );
        expect(verdicts).not.toContain(false);
        most = Math.max(most, verdicts.length);
        paused += waits;
      },
    ),
    { seed: 9, numRuns: 300 },
  );
  expect(most).toBeGreaterThan(500);
  expect(paused).toBeGreaterThan(100);
});

it('one that paces itself by its own clock would be', () => {
  const limit = new OpenLimit(40);
  const wait = (nowMs: number): number => (limit.admit(nowMs) ? 0 : 1);
  const { verdicts } = conversation(
    40,
    [1500, 10, 1500, 10, 1500, 10],
    { wait },
    () => {},
    () => {},
  );
  expect(verdicts).toContain(false);
});
