import { expect, it } from 'vitest';
import { fuzz, fuzzOnce } from './fuzz.ts';

it('whatever bytes arrive, both ends end typed, at once, and throw nothing past the codec', async () => {
  const endMs = performance.now() + 3000;
  const tally = await fuzz(1, ({ rounds }) => rounds < 300 || performance.now() < endMs);
  // Not vacuous: bytes of every kind were there, and not only those that fail at once.
  expect(tally.ends.corrupted).toBeGreaterThan(50);
  expect(tally.ends.abuse).toBeGreaterThan(5);
  expect(tally.ends.alive).toBeGreaterThan(5);
  expect(Object.keys(tally.rules).length).toBeGreaterThan(3);
});

it('the same seed gives the same end', async () => {
  for (const seed of [3, 14, 159]) {
    const tallies = [];
    for (let n = 0; n < 2; n++) {
      const tally = { rounds: 0, ends: {}, rules: {}, bytes: 0 };
      await fuzzOnce(seed, tally);
      tallies.push(tally);
    }
    expect(tallies[0]).toEqual(tallies[1]);
  }
});
