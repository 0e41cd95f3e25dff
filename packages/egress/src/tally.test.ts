import type { EgressRecord } from '@glovebox/contract';
import { expect, it } from 'vitest';
import { DecisionTally } from './tally.ts';

const denied = (host: string, over: Partial<EgressRecord> = {}): EgressRecord => ({
  seq: 1,
  at: '2026-01-01T00:00:00.000Z',
  purpose: 'node',
  run: 'run_1',
  attempt: 'att_1',
  node: 'n',
  method: 'GET',
  scheme: 'https',
  host,
  port: 443,
  path: '/',
  outcome: 'denied',
  rule: null,
  reason: 'HOST_NOT_DECLARED',
  address: null,
  protocol: null,
  status: null,
  bytesUp: 0,
  bytesDown: 0,
  durationMs: null,
  retries: 0,
  ...over,
});

it('counts what differs in nothing that was decided, the commonest first', () => {
  const tally = new DecisionTally();
  tally.add(denied('a.test', { path: '/1', seq: 1 }));
  tally.add(denied('b.test', { path: '/1', seq: 2 }));
  tally.add(denied('b.test', { path: '/2', seq: 3, durationMs: 5 }));
  tally.add(denied('b.test', { outcome: 'done', reason: null, rule: 'http.rules[0]' }));
  const b = { scheme: 'https', host: 'b.test', port: 443, method: 'GET' };
  expect(tally.list()).toEqual([
    { ...b, outcome: 'denied', rule: null, reason: 'HOST_NOT_DECLARED', count: 2 },
    { ...b, host: 'a.test', outcome: 'denied', rule: null, reason: 'HOST_NOT_DECLARED', count: 1 },
    { ...b, outcome: 'done', rule: 'http.rules[0]', reason: null, count: 1 },
  ]);
});

it('lists 200 at most, and the commonest whenever it came', () => {
  const tally = new DecisionTally();
  for (let i = 0; i < 300; i++) tally.add(denied(`h${i}.test`));
  tally.add(denied('h299.test'));
  const list = tally.list();
  expect(list).toHaveLength(200);
  expect(list[0]).toMatchObject({ host: 'h299.test', count: 2 });
});

it('lists what may have left, however many decoys were refused more often', () => {
  const tally = new DecisionTally();
  for (let i = 0; i < 600; i++) tally.add(denied(`h${i % 300}.test`));
  for (let i = 0; i < 600; i++)
    tally.add(denied(`h${i % 300}.test`, { outcome: 'over-budget', reason: 'TOO_MANY_REQUESTS' }));
  tally.add(denied('a.test', { outcome: 'done', reason: null, rule: 'http.rules[0]' }));
  tally.add(denied('a.test', { outcome: 'over-budget', reason: 'RESPONSE_TOO_LARGE', rule: 'http.rules[0]' }));
  const list = tally.list();
  expect(list).toHaveLength(200);
  expect(list.slice(-2)).toMatchObject([{ outcome: 'done' }, { reason: 'RESPONSE_TOO_LARGE' }]);
  expect(list[0]).toMatchObject({ host: 'h0.test', count: 2 });
});
