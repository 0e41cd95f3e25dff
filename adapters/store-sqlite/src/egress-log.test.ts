import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type EgressRecord, egressRecordSchema, newAttemptId, newRunId } from '@glovebox/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkDatabase } from '../test/support/check-database.ts';
import { makeDirectory } from '../test/support/records.ts';
import { allRows } from '../test/support/rows.ts';
import { egressStatement } from './egress-log.ts';
import { openStore, type Store } from './index.ts';
import { openDatabase } from './open-database.ts';

let home: ReturnType<typeof makeDirectory>;
let path: string;
let store: Store;

beforeEach(async () => {
  home = makeDirectory();
  path = join(home.dir, 'glovebox.db');
  store = await openStore(path, { inThread: true });
});
afterEach(async () => {
  await store.close();
  expect(checkDatabase(path)).toEqual([]);
  home.remove();
});

const [run, attempt] = [newRunId(), newAttemptId()];

const decided = (over: Partial<EgressRecord> = {}): EgressRecord => ({
  seq: 1,
  at: '2026-09-21T14:13:20.000Z',
  purpose: 'node',
  run,
  attempt,
  node: 'issues-digest',
  method: 'GET',
  scheme: 'https',
  host: 'api.example.com',
  port: 443,
  path: '/v1/issues',
  outcome: 'open',
  rule: 'http.rules[0]',
  reason: null,
  address: null,
  protocol: null,
  status: null,
  bytesUp: 0,
  bytesDown: 0,
  durationMs: null,
  retries: 0,
  ...over,
});
const end: Partial<EgressRecord> = {
  outcome: 'done',
  address: '192.0.2.7',
  protocol: 'h2',
  status: 200,
  bytesUp: 3,
  bytesDown: 2 ** 40,
  durationMs: 12.25,
  retries: 1,
};

const append = (...records: EgressRecord[]): Promise<void> =>
  store.egressLog.append(records.map((record) => ({ project: 'default', record })));
const listed = async (query: Partial<Parameters<Store['egressLog']['list']>[0]> = {}): Promise<EgressRecord[]> =>
  (await store.egressLog.list({ project: 'default', limit: 100, ...query })).map(({ cursor: _, ...record }) => record);

it('keeps what was asked for by many at once before the store was closed', async () => {
  const other = await openStore(path);
  const kept = Array.from({ length: 20 }, (_, at) =>
    other.egressLog.append([{ project: 'default', record: decided({ seq: at + 1 }) }]),
  );
  await Promise.all([...kept, other.close()]);
  expect(await store.egressLog.list({ project: 'default', limit: 100 })).toHaveLength(20);
});

describe('a request', () => {
  it('is there as it was decided, and after its end as it ended', async () => {
    await append(decided());
    expect(await listed()).toEqual([decided()]);
    await append(decided(end));
    expect(await listed()).toEqual([decided(end)]);
    expect(egressRecordSchema.parse((await listed())[0])).toEqual(decided(end));
  });

  it('stays open when whoever made it died, since nobody knows how it ended', async () => {
    await append(decided(), decided({ seq: 2 }), decided({ ...end, seq: 2 }));
    await store.close();
    store = await openStore(path);
    expect((await listed()).map(({ seq, outcome }) => [seq, outcome])).toEqual([
      [2, 'done'],
      [1, 'open'],
    ]);
  });

  it('may be told once, where it was denied', async () => {
    const denial = decided({ outcome: 'denied', rule: null, reason: 'HOST_NOT_DECLARED', durationMs: 0.1 });
    await append(denial);
    expect(await listed({ outcome: 'denied' })).toEqual([denial]);
  });

  it('keeps its first end', async () => {
    await append(decided(), decided(end));
    const before = allRows(path);
    for (const second of [decided(end), decided({ ...end, outcome: 'failed' }), decided()])
      await expect(append(second)).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(allRows(path)).toBe(before);
  });

  it.each<[string, Partial<EgressRecord>]>([
    ['host', { host: 'other.example.com' }],
    ['path', { path: '/v1/secrets' }],
    ['method', { method: 'DELETE' }],
    ['port', { port: 8443 }],
    ['run', { run: newRunId() }],
    ['node', { node: null }],
  ])('is not ended by the end of one with another %s', async (_name, over) => {
    await append(decided());
    await expect(append(decided({ ...end, ...over }))).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(await listed()).toEqual([decided()]);
    await append(decided(end));
    expect(await listed()).toEqual([decided(end)]);
  });

  it('is one of its project: another with its attempt and number has another record', async () => {
    await store.egressLog.append(
      ['default', 'other'].map((project) => ({ project, record: decided({ host: `${project}.example.com` }) })),
    );
    expect(await listed()).toEqual([decided({ host: 'default.example.com' })]);
    expect(await listed({ project: 'other' })).toEqual([decided({ host: 'other.example.com' })]);
  });

  it('without an attempt stands for itself', async () => {
    const record = decided({ ...end, purpose: 'registry', run: null, attempt: null, node: null });
    await append(record, record);
    expect(await listed()).toEqual([record, record]);
  });

  it('is kept with all that came with it, or not at all', async () => {
    await append(decided(), decided(end));
    const more = [2, 3].map((seq) => decided({ seq }));
    await expect(append(...more, decided(end))).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(await listed()).toHaveLength(1);
    await append(...more);
    expect(await listed()).toHaveLength(3);
    await append();
    expect(await listed()).toHaveLength(3);
  });

  it.each([
    ['an end that is another', "UPDATE egress_records SET outcome = 'failed' WHERE seq = 1"],
    ['no end any more', "UPDATE egress_records SET outcome = 'open' WHERE seq = 1"],
    ['another host', "UPDATE egress_records SET host = 'other.example.com' WHERE seq = 2"],
    ['another attempt', 'UPDATE egress_records SET attempt_id = NULL WHERE seq = 2'],
    ['an outcome that there is not', "UPDATE egress_records SET outcome = 'lost' WHERE seq = 2"],
  ])('is not given %s by whoever else writes', async (_what, sql) => {
    await append(decided(end), decided({ seq: 2 }));
    const db = new DatabaseSync(path);
    expect(() => db.exec(sql)).toThrow(/is another one|CHECK constraint/);
    db.exec("UPDATE egress_records SET outcome = 'aborted' WHERE seq = 2");
    db.close();
    expect((await listed({ outcome: 'aborted' })).map(({ seq }) => seq)).toEqual([2]);
  });
});

describe('a list', () => {
  const hosts = ['a.example.com', 'b.example.com'];
  const outcomes = ['done', 'denied', 'open'] as const;

  beforeEach(() =>
    append(
      ...Array.from({ length: 12 }, (_, i) =>
        decided({
          seq: i + 1,
          host: hosts[i % 2] as string,
          outcome: outcomes[i % 3] as EgressRecord['outcome'],
          ...(i < 6 ? {} : { run: null, attempt: null }),
        }),
      ),
    ),
  );

  const seqs = async (query: Parameters<typeof listed>[0]): Promise<number[]> =>
    (await listed(query)).map(({ seq }) => seq);

  it('has the newest first, in pages, and what a filter leaves', async () => {
    expect(await seqs({})).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    expect(await seqs({ run })).toEqual([6, 5, 4, 3, 2, 1]);
    expect(await seqs({ host: 'b.example.com' })).toEqual([12, 10, 8, 6, 4, 2]);
    expect(await seqs({ outcome: 'denied', host: 'b.example.com' })).toEqual([8, 2]);
    expect(await seqs({ outcome: 'denied', host: 'b.example.com', run })).toEqual([2]);
    expect(await seqs({ limit: -1 })).toEqual([]);
    expect(await seqs({ project: 'other' })).toEqual([]);
    let before: string | undefined;
    const pages: number[][] = [];
    for (;;) {
      const query = { project: 'default', limit: 5, ...(before === undefined ? {} : { before }) };
      const page = await store.egressLog.list(query);
      if (page.length === 0) break;
      pages.push(page.map(({ seq }) => seq));
      before = page.at(-1)?.cursor;
    }
    expect(pages).toEqual([
      [12, 11, 10, 9, 8],
      [7, 6, 5, 4, 3],
      [2, 1],
    ]);
    expect(await seqs({ before: 'no cursor' })).toEqual([]);
  });
});

it('reads each page of a list along an index, without a scan or a sort, among 100,000 requests', () => {
  const file = join(home.dir, 'many.db');
  const db = openDatabase({ path: file, busyTimeoutMs: 1000 });
  db.exec(`
    INSERT INTO egress_records (project, run_id, attempt_id, seq, at, purpose, node, method, scheme, host, port, path, outcome,
      bytes_up, bytes_down, retries)
    WITH RECURSIVE up (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM up WHERE n < 100000)
    SELECT 'default', 'run-' || (n / 100), 'att-' || (n / 100), 1 + n % 100, 'at', 'node', 'node', 'GET', 'https',
      'host-' || (n % 7), 443, '/', CASE WHEN n % 1000 = 0 THEN 'denied' ELSE 'done' END, 0, 0, 0 FROM up`);
  const before = '50000';
  const queries: [index: string, filters: object][] = [
    ['project', {}],
    ['project', { before }],
    ['host', { host: 'host-3', before }],
    ['outcome', { outcome: 'denied', before }],
    ['host', { host: 'host-3', outcome: 'denied' }],
    ['run', { run: 'run-20', host: 'host-3', before }],
    ['run', { run: 'run-20', outcome: 'denied' }],
  ];
  for (const [index, filters] of queries) {
    const { sql, values } = egressStatement({ project: 'default', limit: 20, ...filters });
    const plan = db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...values)
      .map((row) => String(row.detail));
    expect({ filters, plan }).toEqual({
      filters,
      plan: [expect.stringMatching(new RegExp(`^SEARCH egress_records USING INDEX egress_records_by_${index} `))],
    });
    expect(db.prepare(sql).all(...values).length).toBeGreaterThan(0);
  }
  db.close();
});
