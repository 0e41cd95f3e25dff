import { describe, expect, it } from 'vitest';
import { attempt, seen } from '../support/hostile-cell/attempt.ts';

/* What takes a hostile cell a while: the rate of requests is limited. */
describe('a flood of', () => {
  it('progress reports ends at 10,000', async () => {
    const run = await attempt('progress', [10_001, '{"fraction":0.5}']);
    expect(seen(run)).toEqual(['CHANNEL_ABUSE', 'CHANNEL_ABUSE']);
    expect(run.progress).toHaveLength(10_000);
  });

  it('requests that are refused ends at 10,000', async () => {
    const run = await attempt('requests that are refused', [10_001]);
    expect(seen(run)).toEqual(['CHANNEL_ABUSE', 'CHANNEL_ABUSE']);
    const few = await attempt('requests that are refused', [100, 'https://example.com/']);
    expect(few.report).toMatchObject({ state: 'SUCCEEDED', egressRequests: 100 });
  });

  it('bytes that nobody reads ends at 1 GiB', async () => {
    expect(seen(await attempt('a body for nobody', [1026]))).toEqual(['CHANNEL_ABUSE', 'CHANNEL_ABUSE']);
    expect(seen(await attempt('a body for nobody', [4]))).toEqual(['SUCCEEDED', null]);
  });

  it('bytes in a log line without an end, one a frame, ends at 512 KiB', async () => {
    expect(seen(await attempt('log in crumbs', [530_000]))).toEqual(['CHANNEL_ABUSE', 'CHANNEL_ABUSE']);
    expect(seen(await attempt('log in crumbs', [1000]))).toEqual(['SUCCEEDED', null]);
  });
});
