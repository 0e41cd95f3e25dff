import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestContext, runNode } from '@glovebox/sdk/testing';
import node from '../src/index.ts';
import { rateLimitWaitMs } from '../src/rate-limit.ts';
import { answer, cassetteOf, config, first, issue, next, page } from './cassettes.ts';

const now = Date.parse('2026-03-01T12:00:00Z');
const seconds = (at: number): string => String(at / 1000);
const waitMs = (status: number, headers: { [name: string]: string }, body = '', asked = 1): number | undefined =>
  rateLimitWaitMs({ status, headers: new Headers(headers) }, body, { nowMs: now, asked });

test('waits as long as the answer says', () => {
  const reset = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': seconds(now + 42_000) };
  assert.equal(waitMs(429, { 'retry-after': '39' }), 39_000);
  assert.equal(waitMs(403, { 'retry-after': 'Sun, 01 Mar 2026 12:00:39 GMT' }), 39_000);
  assert.equal(waitMs(403, reset), 42_000);
  assert.equal(waitMs(429, { ...reset, 'retry-after': '7' }), 7_000);
});

test('waits a minute that doubles where no time is said', () => {
  assert.equal(waitMs(429, {}), 60_000);
  assert.equal(waitMs(403, { 'x-ratelimit-remaining': '12' }, 'You have exceeded a secondary rate limit.', 3), 240_000);
  assert.equal(waitMs(429, { 'retry-after': 'soon' }), 60_000);
});

test('waits a second at least, also where the time is over', () => {
  assert.equal(waitMs(429, { 'retry-after': '0' }), 1_000);
  assert.equal(waitMs(429, { 'retry-after': 'Sun, 01 Mar 2026 11:00:00 GMT' }), 1_000);
});

test('takes a refusal, and an answer with nothing left after it, for no limit', () => {
  assert.equal(waitMs(403, { 'x-ratelimit-remaining': '12' }, 'Must have admin rights'), undefined);
  assert.equal(waitMs(200, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': seconds(now + 1000) }), undefined);
  assert.equal(waitMs(503, { 'retry-after': '5' }), undefined);
});

test('comes again after the wait, and not before', async () => {
  const limited = answer(first, {}, { 'retry-after': '39' }, 429);
  const { ctx, clock, requests } = createTestContext({
    input: {},
    config,
    now,
    http: cassetteOf([limited, answer(first, [issue(1)])]),
  });
  const output = await node(ctx);
  assert.equal(output.issues, 1);
  assert.equal(clock.now(), now + 39_000);
  assert.deepEqual(
    requests.map(({ status }) => status),
    [429, 200],
  );
});

test('gives what it has where the wait is past its time', async () => {
  const limited = answer(
    page(2),
    {},
    { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': seconds(now + 3_600_000) },
    403,
  );
  const http = cassetteOf([answer(first, [issue(1)], next(2)), limited]);
  const result = await runNode(node, { input: {}, config, now, http });
  assert.ok(result.ok);
  assert.deepEqual([result.output.issues, result.output.truncated, result.output.stoppedBy], [1, true, 'rate-limit']);
});

test('says when to come again where it has nothing', async () => {
  const limited = answer(first, {}, { 'retry-after': '3600' }, 429);
  const result = await runNode(node, { input: {}, config, now, http: cassetteOf([limited]) });
  assert.ok(!result.ok);
  const { code, retryable, retryAfterMs } = result.error;
  assert.deepEqual(
    { code, retryable, retryAfterMs },
    { code: 'RATE_LIMITED', retryable: true, retryAfterMs: 3_600_000 },
  );
});
