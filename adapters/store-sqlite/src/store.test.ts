import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import type { Json } from '@glovebox/contract';
import type { RunStore } from '@glovebox/engine';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkDatabase } from '../test/support/check-database.ts';
import { startChild } from '../test/support/child.ts';
import { type Made, makeDirectory, makeEnd, makeLog, makeRun, owner } from '../test/support/records.ts';
import { openStore, type Store } from './index.ts';

describe.each([
  { where: 'in a worker thread', inThread: false },
  { where: 'in the thread of its caller', inThread: true },
])('a store $where', ({ inThread }) => {
  let home: ReturnType<typeof makeDirectory>;
  let path: string;
  let store: Store;

  beforeEach(async () => {
    home = makeDirectory();
    path = join(home.dir, 'glovebox.db');
    store = await openStore(path, { inThread });
  });
  afterEach(async () => {
    await store.close();
    expect(checkDatabase(path)).toEqual([]);
    home.remove();
  });

  async function created(over: Parameters<typeof makeRun>[0] = {}, by = owner): Promise<Made> {
    const made = makeRun(over, by);
    await store.runs.create(made.run, made.attempt);
    return made;
  }

  it('gives a run back as it was written, whatever its texts hold', async () => {
    const capabilities = JSON.parse('{"__proto__":{"polluted":true},"b":[1.5,null,"\\u0000"]}') as Json;
    const { run, attempt } = await created({
      inputText: JSON.stringify('é😀\u2028 "quoted"'),
      configText: ' { "n" : 12345678901234567890 } ',
      actor: "'; DROP TABLE runs; --",
      capabilities,
    });
    const end = makeEnd({
      error: { code: 'NODE_FAILED', message: 'a\u0000b', hint: 'x', place: { path: '/a' } },
      state: 'FAILED',
    });
    await store.runs.begin(attempt.id, 1_790_000_000_001.75);
    await store.runs.finish(attempt.id, end);
    expect(await store.runs.get('default', run.id)).toEqual({
      run,
      attempts: [{ ...attempt, state: 'FAILED', startedAtMs: 1_790_000_000_001.75, end }],
    });
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it('holds an input and an output of 16 MiB each', async () => {
    const inputText = JSON.stringify('x'.repeat(16 * 1024 * 1024 - 2));
    const { run, attempt } = await created({ inputText });
    await store.runs.finish(attempt.id, makeEnd({ outputText: inputText }));
    const found = await store.runs.get('default', run.id);
    expect(found?.run.inputText === inputText).toBe(true);
    expect(found?.attempts[0]?.end?.outputText === inputText).toBe(true);
  });

  it('walks from queued over running to the end, and writes each step to the journal', async () => {
    const { run, attempt } = await created();
    expect(await store.runs.begin(attempt.id, 2)).toBe('begun');
    expect(await store.runs.finish(attempt.id, makeEnd({ endedAtMs: 3 }))).toBe('finished');
    expect(await store.runs.journal(run.id)).toEqual([
      { seq: 1, atMs: run.createdAtMs, run: run.id, attempt: attempt.id, from: null, to: 'QUEUED' },
      { seq: 2, atMs: 2, run: run.id, attempt: attempt.id, from: 'QUEUED', to: 'RUNNING' },
      { seq: 3, atMs: 3, run: run.id, attempt: attempt.id, from: 'RUNNING', to: 'SUCCEEDED' },
    ]);
  });

  it('ends an attempt that never ran', async () => {
    const { run, attempt } = await created();
    expect(await store.runs.finish(attempt.id, makeEnd({ state: 'CANCELLED' }))).toBe('finished');
    expect((await store.runs.journal(run.id)).map(({ from, to }) => [from, to])).toEqual([
      [null, 'QUEUED'],
      ['QUEUED', 'CANCELLED'],
    ]);
  });

  it('calls a transition stale that does not fit, and changes nothing', async () => {
    const { run, attempt } = await created();
    await store.runs.begin(attempt.id, 1);
    expect(await store.runs.begin(attempt.id, 2)).toBe('stale');
    await store.runs.finish(attempt.id, makeEnd({ outputText: '"first"' }));
    const before = await store.runs.get('default', run.id);
    expect(await store.runs.finish(attempt.id, makeEnd({ state: 'FAILED', outputText: '"second"' }))).toBe('stale');
    expect(await store.runs.begin(attempt.id, 3)).toBe('stale');
    expect(await store.runs.begin(makeRun().attempt.id, 1)).toBe('stale');
    expect(await store.runs.finish(makeRun().attempt.id, makeEnd())).toBe('stale');
    expect(await store.runs.get('default', run.id)).toEqual(before);
    expect(await store.runs.journal(run.id)).toHaveLength(3);
  });

  it('refuses a second run or attempt under one id, and keeps the first', async () => {
    const first = await created();
    const other = makeRun();
    await expect(
      store.runs.create({ ...other.run, id: first.run.id }, { ...other.attempt, run: first.run.id }),
    ).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
    });
    await expect(store.runs.create(other.run, { ...other.attempt, id: first.attempt.id })).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
    });
    expect(await store.runs.get('default', other.run.id)).toBeUndefined();
    expect(await store.runs.get('default', first.run.id)).toEqual({ run: first.run, attempts: [first.attempt] });
    await store.runs.create(other.run, other.attempt);
    expect(await store.runs.get('default', other.run.id)).toBeDefined();
  });

  it('refuses a first attempt that is not a queued one of the same run', async () => {
    const { run, attempt } = makeRun();
    await expect(store.runs.create(run, { ...attempt, state: 'RUNNING' })).rejects.toMatchObject({ code: 'INTERNAL' });
    await expect(store.runs.create(run, { ...attempt, run: makeRun().run.id })).rejects.toMatchObject({
      code: 'INTERNAL',
    });
    expect(await store.runs.get('default', run.id)).toBeUndefined();
  });

  it('numbers log records in the order of arrival over all batches', async () => {
    const { attempt } = await created();
    const other = await created();
    await store.runs.appendLogs(attempt.id, [
      makeLog('a'),
      makeLog('b\u0000\n"', { x: [1, { __proto__: null }] as Json }),
    ]);
    await store.runs.appendLogs(other.attempt.id, [makeLog('elsewhere')]);
    await store.runs.appendLogs(attempt.id, []);
    await store.runs.appendLogs(attempt.id, [makeLog('c')]);
    const records = await store.runs.logs(attempt.id);
    expect(records.map(({ seq, message }) => [seq, message])).toEqual([
      [1, 'a'],
      [2, 'b\u0000\n"'],
      [3, 'c'],
    ]);
    expect(records[0]).toEqual({ seq: 1, ...makeLog('a') });
    expect(records[1]?.fields).toEqual({ x: [1, {}] });
    expect((await store.runs.logs(attempt.id, 1, 1)).map(({ seq }) => seq)).toEqual([2]);
    expect(await store.runs.logs(attempt.id, 3)).toEqual([]);
    expect(await store.runs.logs(attempt.id, 0, -1)).toEqual([]);
  });

  it('takes no log records for an attempt that has ended or is not there', async () => {
    const { attempt } = await created();
    await store.runs.appendLogs(attempt.id, [makeLog('in time')]);
    await store.runs.finish(attempt.id, makeEnd());
    await store.runs.appendLogs(attempt.id, [makeLog('late')]);
    expect((await store.runs.logs(attempt.id)).map(({ message }) => message)).toEqual(['in time']);
    await expect(store.runs.appendLogs(makeRun().attempt.id, [makeLog('x')])).rejects.toMatchObject({
      code: 'NOT_FOUND',
    });
  });

  it('lists runs newest first, by project, node and state, in pages', async () => {
    const made: Made[] = [];
    for (let i = 0; i < 6; i++) {
      made.push(
        await created({
          createdAtMs: 1_790_000_000_000 + i,
          project: i === 5 ? 'other' : 'default',
          node: { id: i % 2 === 0 ? 'even-node' : 'odd-node', version: `1.0.${i}`, revision: 'r', title: 't' },
        }),
      );
    }
    const idOf = (i: number): string => made[i]?.run.id ?? '';
    await store.runs.finish(
      made[2]?.attempt.id ?? '',
      makeEnd({ state: 'FAILED', endedAtMs: 1_790_000_000_502, error: { code: 'E_MINE', message: 'm' } }),
    );
    await store.runs.begin(made[3]?.attempt.id ?? '', 1);

    const all = await store.runs.list({ project: 'default', limit: 10 });
    expect(all.map(({ id }) => id)).toEqual([4, 3, 2, 1, 0].map(idOf));
    expect(all[2]).toEqual({
      id: idOf(2),
      node: { id: 'even-node', version: '1.0.2' },
      state: 'FAILED',
      createdAtMs: 1_790_000_000_002,
      durationMs: 500,
      errorCode: 'E_MINE',
    });
    expect(all[1]).toMatchObject({ state: 'RUNNING', durationMs: null, errorCode: null });

    const first = await store.runs.list({ project: 'default', limit: 2 });
    const second = await store.runs.list({ project: 'default', limit: 2, before: first[1]?.id ?? '' });
    const third = await store.runs.list({ project: 'default', limit: 2, before: second[1]?.id ?? '' });
    expect([first, second, third].map((page) => page.map(({ id }) => id))).toEqual([
      [4, 3].map(idOf),
      [2, 1].map(idOf),
      [idOf(0)],
    ]);

    const ids = async (query: Partial<Parameters<RunStore['list']>[0]>) =>
      (await store.runs.list({ project: 'default', limit: 10, ...query })).map(({ id }) => id);
    expect(await ids({ node: 'odd-node' })).toEqual([3, 1].map(idOf));
    expect(await ids({ state: 'QUEUED' })).toEqual([4, 1, 0].map(idOf));
    expect(await ids({ node: 'even-node', state: 'QUEUED', before: idOf(4) })).toEqual([idOf(0)]);
    expect(await ids({ project: 'other' })).toEqual([idOf(5)]);
    expect(await ids({ limit: 0 })).toEqual([]);
    expect(await ids({ limit: -1 })).toEqual([]);
  });

  it('does not show a run to another project', async () => {
    const { run } = await created();
    expect(await store.runs.get('other', run.id)).toBeUndefined();
    expect(await store.runs.get('default', run.id)).toBeDefined();
  });

  it('loses the open attempts of dead owners and no others', async () => {
    const dead = { ...owner, pid: 1001 };
    const alive = { ...owner, pid: 1002 };
    const queued = await created({}, dead);
    const running = await created({}, dead);
    const ended = await created({}, dead);
    const living = await created({}, alive);
    await store.runs.begin(running.attempt.id, 1);
    await store.runs.appendLogs(running.attempt.id, [makeLog('hé')]);
    await store.runs.finish(ended.attempt.id, makeEnd());

    const lost = await store.runs.markLost((candidate) => candidate.pid === dead.pid, 77);
    expect(lost.sort()).toEqual([queued.attempt.id, running.attempt.id].sort());
    expect(await store.runs.markLost((candidate) => candidate.pid === dead.pid, 78)).toEqual([]);

    const found = await store.runs.get('default', running.run.id);
    expect(found?.attempts[0]).toMatchObject({
      state: 'LOST',
      end: {
        state: 'LOST',
        endedAtMs: 77,
        error: { code: 'CELL_LOST' },
        outputText: null,
        receiptText: null,
        logBytes: 3,
        logTruncated: true,
      },
    });
    expect((await store.runs.get('default', ended.run.id))?.attempts[0]?.state).toBe('SUCCEEDED');
    expect((await store.runs.get('default', living.run.id))?.attempts[0]?.state).toBe('QUEUED');
    expect((await store.runs.journal(queued.run.id)).at(-1)).toMatchObject({ from: 'QUEUED', to: 'LOST', atMs: 77 });
    expect(await store.runs.finish(running.attempt.id, makeEnd())).toBe('stale');
  });

  it('loses nobody when the judgement itself fails', async () => {
    const { run } = await created();
    await expect(
      store.runs.markLost(() => {
        throw new Error('cannot tell');
      }, 1),
    ).rejects.toThrow('cannot tell');
    expect((await store.runs.get('default', run.id))?.attempts[0]?.state).toBe('QUEUED');
  });

  it('finishes what was asked before it closes, and refuses what comes after', async () => {
    const { run, attempt } = makeRun();
    const asked = store.runs.create(run, attempt);
    await Promise.all([store.close(), store.close(), asked]);
    await expect(store.runs.list({ project: 'default', limit: 1 })).rejects.toMatchObject({ code: 'INTERNAL' });
    const again = await openStore(path, { inThread });
    expect(await again.runs.get('default', run.id)).toBeDefined();
    await again.close();
  });

  it('says that the store is busy when another holds the lock, keeps nothing, and works once it is free', async () => {
    const impatient = await openStore(path, { inThread, busyTimeoutMs: 20 });
    const holder = new DatabaseSync(path);
    holder.exec('BEGIN IMMEDIATE');
    const { run, attempt } = makeRun();
    await expect(impatient.runs.create(run, attempt)).rejects.toMatchObject({ code: 'STORE_BUSY' });
    expect(await impatient.runs.list({ project: 'default', limit: 1 })).toEqual([]);
    holder.exec('ROLLBACK');
    holder.close();
    await impatient.runs.create(run, attempt);
    await impatient.close();
    expect(await store.runs.get('default', run.id)).toBeDefined();
  });

  it('makes files that only their owner can read', () => {
    for (const name of ['', '-wal', '-shm']) expect(statSync(`${path}${name}`).mode & 0o777).toBe(0o600);
  });
});

describe('the thread of the caller', () => {
  it('is told at once of what cannot reach a worker, and can close', async () => {
    const home = makeDirectory();
    const store = await openStore(join(home.dir, 'glovebox.db'));
    const { run, attempt } = makeRun();
    const unsendable = { ...run, capabilities: { f: () => 1 } as unknown as Json };
    await expect(store.runs.create(unsendable, attempt)).rejects.toThrow(/could not be cloned/);
    await store.runs.create(run, attempt);
    await store.close();
    home.remove();
  });

  it('goes on while a worker waits for the lock of another process', async () => {
    const home = makeDirectory();
    const path = join(home.dir, 'glovebox.db');
    const store = await openStore(path);
    const holder = new DatabaseSync(path);
    holder.exec('BEGIN IMMEDIATE');
    const { run, attempt } = makeRun();
    let settled = false;
    const creating = store.runs.create(run, attempt).finally(() => {
      settled = true;
    });
    for (let turn = 0; turn < 50; turn++) await setImmediate();
    expect(settled).toBe(false);
    holder.exec('COMMIT');
    holder.close();
    await creating;
    await store.close();
    home.remove();
  });

  it('may end without closing, and has lost nothing that was acknowledged', async () => {
    const home = makeDirectory();
    const path = join(home.dir, 'glovebox.db');
    const child = startChild('leaver.ts', [path]);
    expect(await child.ended).toMatchObject({ code: 0, stderr: '' });
    const store = await openStore(path);
    expect((await store.runs.list({ project: 'default', limit: 5 })).map(({ id }) => id)).toEqual(child.lines);
    expect(child.lines).toHaveLength(1);
    await store.close();
    home.remove();
  });
});
