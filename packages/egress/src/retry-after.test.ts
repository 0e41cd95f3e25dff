import { describe, expect, it } from 'vitest';
import { retryAfterMs } from './retry-after.ts';

const nowMs = Date.UTC(2026, 10, 6, 8, 49, 37);

describe('Retry-After', () => {
  it.each([
    ['0', 0],
    ['120', 120_000],
    [' 7 ', 7_000],
    ['Fri, 06 Nov 2026 08:50:37 GMT', 60_000],
    ['Friday, 06-Nov-26 08:50:37 GMT', 60_000],
    ['Fri Nov  6 08:50:37 2026', 60_000],
    ['Fri, 06 Nov 2026 08:00:00 GMT', 0],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
    ['Sat, 31 Dec 2026 23:59:60 GMT', Date.UTC(2027, 0, 1) - nowMs],
  ])('%s asks for %i ms', (text, ms) => {
    expect(retryAfterMs(text, nowMs)).toBe(ms);
  });

  it.each([
    undefined,
    '',
    '-1',
    '1.5',
    '1e3',
    '0x10',
    '99999999999',
    'soon',
    '2026-11-06T08:50:37Z',
    'Fri, 6 Nov 2026 08:50:37 GMT',
    'Fri, 06 Nov 2026 08:50:37 UTC',
    'Fri, 06 nov 2026 08:50:37 GMT',
    'Fri, 30 Feb 2026 08:50:37 GMT',
    'Fri, 06 Nov 2026 24:50:37 GMT',
    'Fri, 06 Nov 2026 08:50:37 GMT, 1',
  ])('is not understood as %s', (text) => {
    expect(retryAfterMs(text, nowMs)).toBeUndefined();
  });
});
