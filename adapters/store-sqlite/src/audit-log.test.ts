import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { auditEntryHash } from '@glovebox/artifact';
import { type AuditAction, type AuditEvent, auditActions, auditEntrySchema } from '@glovebox/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkDatabase } from '../test/support/check-database.ts';
import { bringTo, digestOf, eventOf, makeDraft } from '../test/support/drafts.ts';
import { makeDirectory, makeEnd, makeRun, owner } from '../test/support/records.ts';
import { allRows } from '../test/support/rows.ts';
import { auditStatement } from './audit-log.ts';
import { openStore, type Store } from './index.ts';

type Appended = Parameters<Store['audit']['append']>[0];

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
  home.remove();
});

const withDatabase = <T>(action: (db: DatabaseSync) => T): T => {
  const db = new DatabaseSync(path);
  try {
    return action(db);
  } finally {
    db.close();
  }
};

/** Four entries: put, begun, ended, published. */
const history = (): Promise<void> => bringTo(store, makeDraft(), 'released');

describe('the audit chain', () => {
  it('has an entry for each transition, each with the hash of the one before', async () => {
    expect(await store.audit.head()).toBeUndefined();
    await history();
    const entries = await store.audit.list({ limit: 10 });
    expect(entries.map(({ seq, action }) => [seq, action])).toEqual([
      [1, 'draft.put'],
      [2, 'draft.validation-began'],
      [3, 'draft.validation-ended'],
      [4, 'release.published'],
    ]);
    entries.forEach((entry, i) => {
      expect(auditEntrySchema.parse(entry)).toEqual(entry);
      expect(entry.previous).toBe(entries[i - 1]?.hash ?? `sha256:${'0'.repeat(64)}`);
      expect(entry.hash).toBe(auditEntryHash(entry));
    });
    expect(await store.audit.head()).toEqual({ seq: 4, hash: entries[3]?.hash });
    expect(checkDatabase(path)).toEqual([]);
  });

  it('keeps details as they are, whatever they hold', async () => {
    const draft = makeDraft();
    const details = JSON.parse('{"z":1e21,"a":"é😀\\u2028\\u0000","n":{"__proto__":{"x":[null,-0.5]}},"":true}');
    await store.drafts.put(draft, eventOf(draft, 'draft.put', details));
    expect(JSON.stringify((await store.audit.list({ limit: 1 }))[0]?.details)).toBe(JSON.stringify(details));
    expect(checkDatabase(path)).toEqual([]);
  });

  it('undoes the transition when its event cannot be hashed', async () => {
    const draft = makeDraft();
    for (const event of [
      { ...eventOf(draft, 'draft.put'), actor: 'half a pair \ud800' },
      eventOf(draft, 'draft.put', { n: Number.NaN }),
      { ...eventOf(draft, 'draft.put'), atMs: 1.5 },
    ])
      await expect(store.drafts.put(draft, event)).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(await store.drafts.get('default', draft.id)).toBeUndefined();
    expect(await store.audit.head()).toBeUndefined();
    await store.drafts.put(draft, eventOf(draft, 'draft.put'));
    expect(await store.audit.head()).toMatchObject({ seq: 1 });
  });

  it('tells of the end of each attempt, by whoever asked for it, and of a lost one by the system', async () => {
    const [ended, lost] = [makeRun({ actor: 'someone' }), makeRun({}, { ...owner, pid: 1 })];
    for (const { run, attempt } of [ended, lost]) await store.runs.create(run, attempt);
    expect(await store.audit.head()).toBeUndefined();
    await store.runs.begin(ended.attempt.id, 1);
    await store.runs.finish(ended.attempt.id, makeEnd({ endedAtMs: 1234.75 }));
    expect(await store.runs.finish(ended.attempt.id, makeEnd())).toBe('stale');
    await store.runs.markLost((candidate) => candidate.pid === 1, 5678.25);
    await store.runs.markLost(() => true, 9999);
    expect((await store.audit.list({ limit: 10 })).map(({ hash, previous, ...event }) => event)).toEqual([
      {
        seq: 1,
        atMs: 1234,
        actor: 'someone',
        project: 'default',
        action: 'attempt.ended',
        subject: ended.attempt.id,
        details: { run: ended.run.id, state: 'SUCCEEDED', receiptDigest: makeEnd().receiptDigest, release: null },
      },
      {
        seq: 2,
        atMs: 5678,
        actor: 'system',
        project: 'default',
        action: 'attempt.ended',
        subject: lost.attempt.id,
        details: { run: lost.run.id, state: 'LOST', receiptDigest: null, release: null },
      },
    ]);
    expect(checkDatabase(path)).toEqual([]);
  });

  it('takes what no transition brings about, as the next entry, and no word of what one does', async () => {
    const event = (action: AuditAction): AuditEvent => ({
      atMs: 7,
      actor: 'local:uid=7',
      project: 'default',
      action,
      subject: 'a key',
      details: { retired: 'another key' },
    });
    await history();
    const [rotated, created] = [event('key.rotated'), event('instance.created')];
    for (const one of [rotated, created]) await store.audit.append(one as Appended);
    const [, , , published, ...added] = await store.audit.list({ limit: 10 });
    expect(added).toMatchObject([
      { seq: 5, previous: published?.hash, ...rotated },
      { seq: 6, previous: added[0]?.hash, ...created },
    ]);
    expect(checkDatabase(path)).toEqual([]);
    const before = allRows(path);
    for (const action of auditActions.filter((name) => !['instance.created', 'key.rotated'].includes(name)))
      await expect(store.audit.append(event(action) as Appended)).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(allRows(path)).toBe(before);
  });

  it('is listed in pages, and by project, action and subject', async () => {
    await history();
    await bringTo(store, makeDraft({ project: 'other' }), 'validating');
    const seqs = async (query: Partial<Parameters<Store['audit']['list']>[0]>): Promise<number[]> =>
      (await store.audit.list({ limit: 10, ...query })).map(({ seq }) => seq);
    expect(await seqs({})).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await seqs({ after: 2, limit: 2 })).toEqual([3, 4]);
    expect(await seqs({ project: 'other' })).toEqual([5, 6]);
    expect(await seqs({ action: 'draft.put' })).toEqual([1, 5]);
    expect(await seqs({ action: 'draft.put', after: 1 })).toEqual([5]);
    expect(await seqs({ subject: 'default/csv-profile@1.0.0', limit: 3 })).toEqual([1, 2, 3]);
    expect(await seqs({ project: 'other', action: 'release.published' })).toEqual([]);
    expect(await seqs({ limit: -1 })).toEqual([]);
  });
});

it('reads each page of audit along one index, without a sort', () => {
  const filters = [
    {},
    { subject: 's' },
    { action: 'a' },
    { project: 'p' },
    { subject: 's', action: 'a', project: 'p' },
  ];
  const plans = filters.map((query) => {
    const { sql, values } = auditStatement({ limit: 5, after: 3, ...query });
    return withDatabase((db) => db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...values)).map((row) => row.detail);
  });
  expect(plans).toEqual([
    ['SEARCH audit USING INTEGER PRIMARY KEY (rowid>?)'],
    ['SEARCH audit USING INDEX audit_by_subject (subject=? AND rowid>?)'],
    ['SEARCH audit USING INDEX audit_by_action (action=? AND rowid>?)'],
    ['SEARCH audit USING INDEX audit_by_project (project=? AND rowid>?)'],
    ['SEARCH audit USING INDEX audit_by_subject (subject=? AND rowid>?)'],
  ]);
});

describe('the audit table, whoever writes to the file', () => {
  const zeros = `sha256:${'0'.repeat(64)}`;
  const row = (seq: number | null, previous: string): string =>
    `INSERT INTO audit VALUES (${seq}, 1, 'a', 'p', 'draft.put', 's', '{}', '${previous}', '${digestOf('x')}')`;

  it('takes the entry that comes next', async () => {
    withDatabase((db) => db.exec(row(1, zeros)));
    withDatabase((db) => db.exec(row(2, digestOf('x'))));
    expect(await store.audit.list({ limit: 10 })).toHaveLength(2);
  });

  it.each([
    ['a change', "UPDATE audit SET actor = 'nobody'"],
    ['a removal', 'DELETE FROM audit'],
    ['a removal of the last one', 'DELETE FROM audit WHERE seq = 4'],
    ['a replacement', row(4, digestOf('x')).replace('INSERT', 'INSERT OR REPLACE')],
    ['another entry of the same number', row(4, digestOf('x'))],
    ['an entry that follows from nothing', row(5, digestOf('y'))],
    ['a second beginning', row(1, zeros)],
    ['a gap', row(6, digestOf('x'))],
    ['an entry without a number', row(null, digestOf('x'))],
    ['an entry before the first', row(0, digestOf('x'))],
  ])('refuses %s', async (_what, sql) => {
    await history();
    const before = allRows(path);
    expect(() => withDatabase((db) => db.exec(`PRAGMA recursive_triggers = ON; ${sql}`))).toThrow(/audit/);
    expect(allRows(path)).toBe(before);
  });
});

describe('an audit that was tampered with', () => {
  const tampered = async (sql: string): Promise<string[]> => {
    await history();
    expect(checkDatabase(path)).toEqual([]);
    withDatabase((db) => {
      const triggers = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name LIKE 'audit%'").all();
      for (const { name } of triggers) db.exec(`DROP TRIGGER ${name}`);
      db.exec(sql);
    });
    return checkDatabase(path);
  };
  const rehashed = `hash = '${digestOf('whatever')}'`;

  it.each([
    ['an actor', "UPDATE audit SET actor = 'nobody' WHERE seq = 2", 2],
    ['a time', 'UPDATE audit SET at_ms = at_ms + 1 WHERE seq = 3', 3],
    ['a detail', `UPDATE audit SET details_json = '{"x":1}' WHERE seq = 1`, 1],
    ['the last entry', "UPDATE audit SET subject = 'default/csv-profile@1.0.1' WHERE seq = 4", 4],
    ['an entry and its hash', `UPDATE audit SET actor = 'nobody', ${rehashed} WHERE seq = 2`, 3],
  ])('is found out by the hashes: %s was changed', async (_what, sql, seq) => {
    expect(await tampered(sql)).toContainEqual(expect.stringMatching(new RegExp(`^audit entry ${seq} does not have`)));
  });

  it('is found out by the hashes: an entry is gone, or two have changed places', async () => {
    expect(
      await tampered('DELETE FROM audit WHERE seq = 2; UPDATE audit SET seq = seq - 1 WHERE seq > 2'),
    ).toContainEqual('audit entry 2 does not have the hash of the one before');
  });
});

describe('checkpoints', () => {
  it('are kept in the order in which they were added, and the same one once', async () => {
    expect(await store.audit.latestCheckpoint()).toBeUndefined();
    await history();
    const [first, , , last] = await store.audit.list({ limit: 10 });
    const of = (entry: typeof first, envelopeText: string) => ({
      seq: entry?.seq ?? 0,
      hash: entry?.hash ?? '',
      envelopeText,
    });
    const added = [of(last, '{"payload":"b"}'), of(first, '{"payload":"a"}'), of(last, '{"payload":"by another key"}')];
    for (const checkpoint of added) await store.audit.addCheckpoint(checkpoint);
    for (const checkpoint of added) await store.audit.addCheckpoint(checkpoint);
    expect(await store.audit.checkpoints()).toEqual(added);
    expect(await store.audit.latestCheckpoint()).toEqual(added[2]);
    expect(() => withDatabase((db) => db.exec('DELETE FROM audit_checkpoints'))).toThrow(/append-only/);
    expect(() => withDatabase((db) => db.exec("UPDATE audit_checkpoints SET envelope_text = ''"))).toThrow(
      /append-only/,
    );
    expect(checkDatabase(path)).toEqual([]);
  });

  it('are refused for what the chain has not', async () => {
    await history();
    const head = await store.audit.head();
    const envelopeText = '{}';
    for (const wrong of [
      { seq: 4, hash: digestOf('other'), envelopeText },
      { seq: 5, hash: head?.hash ?? '', envelopeText },
    ])
      await expect(store.audit.addCheckpoint(wrong)).rejects.toMatchObject({ code: 'AUDIT_BROKEN' });
    expect(await store.audit.checkpoints()).toEqual([]);
    await store.audit.addCheckpoint({ seq: 4, hash: head?.hash ?? '', envelopeText });
    expect(await store.audit.checkpoints()).toHaveLength(1);
  });
});
