import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import type { EgressRecord } from '@glovebox/contract';
import { expect, it } from 'vitest';
import type { EgressLogEntry } from '../ports.ts';
import { EgressLogWriter } from './egress-log-writer.ts';

const record = (seq: number, outcome: EgressRecord['outcome'] = 'open'): EgressRecord => ({
  seq,
  at: '2026-01-01T00:00:00.000Z',
  purpose: 'node',
  run: 'run_1',
  attempt: 'att_1',
  node: 'n',
  method: 'GET',
  scheme: 'https',
  host: 'a.test',
  port: 443,
  path: '/',
  outcome,
  rule: null,
  reason: null,
  address: null,
  protocol: null,
  status: null,
  bytesUp: 0,
  bytesDown: 0,
  durationMs: null,
  retries: 0,
});

/** A log whose transactions end when a test says so. */
function openLog() {
  const batches: EgressLogEntry[][] = [];
  const ends: { commit(): void; fail(error: unknown): void }[] = [];
  return {
    batches,
    ends,
    append(records: readonly EgressLogEntry[]): Promise<void> {
      batches.push([...records]);
      return new Promise((resolve, reject) => ends.push({ commit: resolve, fail: reject }));
    },
  };
}

const turns = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await turn();
};
const told = ({ batches }: ReturnType<typeof openLog>) =>
  batches.map((batch) => batch.map(({ record: { seq, outcome } }) => `${seq} ${outcome}`));

const waits = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([promise.then(() => false), turns().then(() => true)]);

it('has a request that is to leave wait until its decision is kept', async () => {
  const log = openLog();
  const writer = new EgressLogWriter(log, 'default');
  const decided = writer.record(record(1));
  expect(await waits(decided)).toBe(true);
  expect(told(log)).toEqual([['1 open']]);
  log.ends[0]?.commit();
  await decided;
});

it('keeps no end waiting, and writes it with the next decision, or by itself a little later', async () => {
  const log = openLog();
  const writer = new EgressLogWriter(log, 'default');
  await writer.record(record(1, 'denied'));
  await turns();
  expect(told(log)).toEqual([]);
  const decided = writer.record(record(2));
  await turns();
  log.ends[0]?.commit();
  await decided;
  await writer.record(record(2, 'done'));
  await sleep(100);
  expect(told(log)).toEqual([['1 denied', '2 open'], ['2 done']]);
});

it('writes what has come while a transaction went on in the next one, and flush waits for it', async () => {
  const log = openLog();
  const writer = new EgressLogWriter(log, 'default');
  const first = writer.record(record(1));
  await turns();
  const second = writer.record(record(2));
  await writer.record(record(1, 'done'));
  const flushed = writer.flush().then(() => 'flushed');
  log.ends[0]?.commit();
  await first;
  await turns();
  expect(told(log)).toEqual([['1 open'], ['2 open', '1 done']]);
  expect(log.batches[0]?.[0]?.project).toBe('default');
  expect([await waits(flushed), await waits(second)]).toEqual([true, true]);
  log.ends[1]?.commit();
  await second;
  expect(await flushed).toBe('flushed');
});

it('has flush wait for the transaction that goes on', async () => {
  const log = openLog();
  const writer = new EgressLogWriter(log, 'default');
  const decided = writer.record(record(1));
  await turns();
  const flushed = writer.flush();
  expect(await waits(flushed)).toBe(true);
  log.ends[0]?.commit();
  await Promise.all([decided, flushed]);
});

it('has whoever says more than 500 at once wait for room', async () => {
  const log = openLog();
  const writer = new EgressLogWriter(log, 'default');
  const first = writer.record(record(1));
  await turns();
  for (let seq = 2; seq <= 500; seq++) await writer.record(record(seq, 'denied'));
  const waiting = writer.record(record(501, 'denied'));
  expect(await waits(waiting)).toBe(true);
  log.ends[0]?.commit();
  await first;
  await turns();
  log.ends[1]?.commit();
  await waiting;
  await writer.flush();
  expect(log.batches.map(({ length }) => length)).toEqual([1, 500]);
});

it('rejects what waits, whatever comes after a failure, and flush, with what failed first', async () => {
  const log = openLog();
  const writer = new EgressLogWriter(log, 'default');
  const first = writer.record(record(1));
  await turns();
  const second = writer.record(record(2));
  const full = new Error('full');
  log.ends[0]?.fail(full);
  await expect(first).rejects.toBe(full);
  await expect(second).rejects.toBe(full);
  await expect(writer.record(record(3))).rejects.toBe(full);
  await expect(writer.flush()).rejects.toBe(full);
  await turns();
  expect(log.batches).toHaveLength(1);
});

it('flushes at once where nothing was said', async () => {
  await expect(new EgressLogWriter(openLog(), 'default').flush()).resolves.toBeUndefined();
});
