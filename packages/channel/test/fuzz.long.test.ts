import { expect, it } from 'vitest';
import { fuzz } from './fuzz.ts';
import { walk } from './walk.ts';

const small = {
  maxStreams: 8,
  streamWindowBytes: 16_384,
  connectionWindowBytes: 40_000,
  maxFrameBytes: 5000,
  maxHeadBytes: 5000,
};

it('whatever bytes arrive for minutes, both ends end typed, and the process does not grow', async () => {
  // Another seed each day: the one that fails stands in the error.
  const seed = Math.floor(Date.now() / 86_400_000) * 10_000_000;
  await fuzz(seed, ({ rounds }) => rounds < 500);
  const before = process.memoryUsage().rss;
  const endMs = performance.now() + 180_000;
  const tally = await fuzz(seed + 1_000_000, () => performance.now() < endMs);
  expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 * 1024);
  expect(tally.ends.alive).toBeGreaterThan(100);
  expect(Object.keys(tally.rules).length).toBeGreaterThan(5);
});

it('a thousand random conversations between honest ends arrive whole and within credit', async () => {
  const seed = Math.floor(Date.now() / 86_400_000) * 10_000;
  for (let n = 0; n < 1000; n++) {
    const client = n % 2 === 0 ? {} : small;
    const server = n % 3 === 0 ? {} : small;
    await walk(seed + n, { client, server }, 60).catch((error: unknown) => {
      throw new Error(`seed ${seed + n}`, { cause: error });
    });
  }
});
