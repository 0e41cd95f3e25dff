import { describe, expect, it } from 'vitest';
import { Samples } from './samples.ts';

async function taken(best: 'lowest' | 'highest', values: (number | undefined)[]): Promise<Samples> {
  const samples = new Samples(best);
  for (const value of values)
    await samples.take(async () => {
      if (value === undefined) throw new Error('went wrong');
      return value;
    });
  return samples;
}

describe('a failure', () => {
  it('is the worst sample, whether low or high is good', async () => {
    expect((await taken('lowest', [10, undefined, 30])).percentile(0.5)).toBe(30);
    expect((await taken('highest', [10, undefined, 30])).percentile(0.5)).toBe(10);
  });

  it('leaves no percentile that most samples do not reach', async () => {
    expect((await taken('lowest', [10, undefined, undefined])).percentile(0.5)).toBeNull();
    expect((await taken('highest', [10, undefined, undefined])).percentile(0.5)).toBeNull();
    expect((await taken('highest', [])).percentile(0.5)).toBeNull();
  });

  it('is told of', async () => {
    expect((await taken('highest', [10, undefined])).note).toEqual({ note: '1 failed: went wrong' });
    expect((await taken('lowest', [10, undefined, 30])).note).toEqual({ note: '1 failed: went wrong' });
  });
});

it('counts each of many samples that are had together, and those that did not come as failures', async () => {
  const samples = new Samples('lowest');
  await samples.takeMany(3, async () => [1, 2, 3]);
  await samples.takeMany(3, async () => [4]);
  await samples.takeMany(2, () => Promise.reject(new Error('went wrong')));
  expect([samples.n, samples.failures, samples.percentile(0.25)]).toEqual([8, 4, 3]);
  expect(samples.percentile(0.5)).toBeNull();
  expect(samples.lastFailure).toBe('went wrong');
});

it('gives the percentile, and the bad end of them as a note', async () => {
  const values = Array.from({ length: 100 }, (_, i) => i + 1);
  const low = await taken('lowest', values);
  const high = await taken('highest', values);
  expect([low.percentile(0.5), low.percentile(0.95)]).toEqual([51, 96]);
  expect([high.percentile(0.5), high.percentile(0.95)]).toEqual([50, 5]);
  expect([low.note, high.note]).toEqual([{ note: 'p95 96.0' }, { note: 'p95 5.0' }]);
});
