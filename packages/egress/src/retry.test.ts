import { describe, expect, it } from 'vitest';
import { isRepeatable, type RetryPlan, retryDelayMs, type Try } from './retry.ts';

const plan: RetryPlan = { retried: 0, retries: 5, leftMs: 60_000, nowMs: 0, random: 0 };
const answered = (status: number, retryAfter?: string): Try => ({ kind: 'answered', status, retryAfter });

describe('another try', () => {
  it.each([429, 502, 503, 504])('follows %i', (status) => {
    expect(retryDelayMs(answered(status), plan)).toBe(125);
  });

  it.each([200, 301, 404, 408, 500, 501])('does not follow %i', (status) => {
    expect(retryDelayMs(answered(status, '0'), plan)).toBeUndefined();
  });

  it.each([
    ['CONNECTION_REFUSED', true],
    ['CONNECTION_LOST', true],
    ['CONNECT_TIMED_OUT', true],
    ['NAME_NOT_FOUND', false],
    ['TLS_FAILED', false],
    ['HEADERS_TIMED_OUT', false],
    ['ATTEMPT_ENDED', false],
    ['ADDRESS_NOT_PUBLIC', false],
    [undefined, false],
  ] as const)('follows %s: %s', (reason, follows) => {
    expect(retryDelayMs({ kind: 'failed', reason }, plan) !== undefined).toBe(follows);
  });

  it('is made as often as was asked for', () => {
    expect(retryDelayMs(answered(503), { ...plan, retries: 0 })).toBeUndefined();
    expect(retryDelayMs(answered(503), { ...plan, retries: 1 })).toBe(125);
    expect(retryDelayMs(answered(503), { ...plan, retries: 1, retried: 1 })).toBeUndefined();
  });

  it('waits as long as it was told, and never up to the total deadline', () => {
    expect(retryDelayMs(answered(429, '3'), plan)).toBe(3_000);
    expect(retryDelayMs(answered(429, '59'), plan)).toBe(59_000);
    expect(retryDelayMs(answered(429, '60'), plan)).toBeUndefined();
    expect(retryDelayMs(answered(503), { ...plan, leftMs: 100 })).toBeUndefined();
  });

  it('waits twice as long each time, up to ten seconds, by a half at random', () => {
    const delays = [0, 1, 2, 3, 10].map((retried) => retryDelayMs(answered(503), { ...plan, retried, retries: 20 }));
    expect(delays).toEqual([125, 250, 500, 1_000, 5_000]);
    expect(retryDelayMs(answered(503), { ...plan, random: 0.999 })).toBeCloseTo(250, 0);
  });

  it.each([
    ['GET', undefined, true],
    ['HEAD', undefined, true],
    ['OPTIONS', undefined, true],
    ['POST', undefined, false],
    ['PUT', undefined, false],
    ['DELETE', undefined, false],
    ['get', undefined, false],
    ['GET', 'a body', false],
  ])('may be made of %s with %s: %s', (method, body, may) => {
    expect(isRepeatable({ method, body })).toBe(may);
  });
});
