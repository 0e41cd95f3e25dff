import { join } from 'node:path';
import type { DraftState } from '@glovebox/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkDatabase } from '../test/support/check-database.ts';
import { atMs, bringTo, eventOf, makeDraft, type PutDraft, passedOf, reportOf, steps } from '../test/support/drafts.ts';
import { makeDirectory, owner } from '../test/support/records.ts';
import { allRows } from '../test/support/rows.ts';
import { openStore, type Store } from './index.ts';

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

const states = ['absent', 'draft', 'validating', 'passed', 'failed', 'released'] as const;
const other = (draft: PutDraft): PutDraft => makeDraft({ ...draft, salt: 'other' });
const next = (draft: PutDraft): PutDraft => makeDraft({ ...draft, version: '1.1.0' });
const holder = (draft: PutDraft): string => `holder of ${draft.id}`;
const dead = { ...owner, pid: 1 };

/** Outcome of each step for a draft in each of the states; after `→`, the state that it is in then. Without one nothing is written. */
const table: [name: string, step: (draft: PutDraft) => Promise<unknown>, outcomes: readonly string[]][] = [
  [
    'putting the same revision',
    (draft) => steps.put(store, draft),
    ['created → draft', 'unchanged', 'unchanged', 'unchanged', 'unchanged', 'unchanged'],
  ],
  [
    'putting another revision of the same version',
    (draft) => steps.put(store, other(draft)),
    ['created → draft', 'replaced → draft', 'busy', 'replaced → draft', 'replaced → draft', 'version-released'],
  ],
  [
    'putting another version',
    (draft) => steps.put(store, next(draft)),
    ['created → draft', 'replaced → draft', 'busy', 'replaced → draft', 'replaced → draft', 'replaced → draft'],
  ],
  [
    'beginning a validation',
    (draft) => steps.begin(store, draft, 'fresh'),
    ['absent', 'begun → validating', 'busy', 'begun → validating', 'begun → validating', 'released'],
  ],
  [
    'beginning a validation of another revision',
    (draft) => steps.begin(store, other(draft), 'fresh'),
    ['absent', 'stale', 'stale', 'stale', 'stale', 'stale'],
  ],
  [
    'passing',
    (draft) => steps.end(store, draft, holder(draft), passedOf(draft)),
    ['stale', 'stale', 'ended → passed', 'stale', 'stale', 'stale'],
  ],
  [
    'failing',
    (draft) => steps.end(store, draft, holder(draft), null),
    ['stale', 'stale', 'ended → failed', 'stale', 'stale', 'stale'],
  ],
  [
    'passing in a validation that does not hold it',
    (draft) => steps.end(store, draft, 'another', passedOf(draft)),
    ['stale', 'stale', 'stale', 'stale', 'stale', 'stale'],
  ],
  [
    'abandoning',
    (draft) => steps.abandon(store, draft, holder(draft)),
    ['stale', 'stale', 'abandoned → draft', 'stale', 'stale', 'stale'],
  ],
  [
    'abandoning a validation that does not hold it',
    (draft) => steps.abandon(store, draft, 'another'),
    ['stale', 'stale', 'stale', 'stale', 'stale', 'stale'],
  ],
  [
    'recovery with its owner dead',
    (draft) => recovery(draft, true),
    ['none', 'none', 'recovered → draft', 'none', 'none', 'none'],
  ],
  [
    'recovery with nobody known to be dead',
    (draft) => recovery(draft, false),
    ['none', 'none', 'none', 'none', 'none', 'none'],
  ],
  [
    'publishing',
    (draft) => steps.publish(store, draft),
    ['absent', 'not-passed', 'not-passed', 'published → released', 'not-passed', 'unchanged'],
  ],
  [
    'publishing another revision',
    (draft) => steps.publish(store, other(draft)),
    ['absent', 'stale', 'stale', 'stale', 'stale', 'stale'],
  ],
  [
    'publishing what is not what has passed',
    (draft) => steps.publish(store, draft, { ...passedOf(draft), permissions: passedOf(other(draft)).artifact }),
    ['absent', 'not-passed', 'not-passed', 'stale', 'not-passed', 'stale'],
  ],
];

async function recovery(draft: PutDraft, isDead: boolean): Promise<string> {
  const recovered = await store.drafts.recoverValidations(() => isDead, atMs);
  expect(recovered).toEqual(recovered.length === 0 ? [] : [`${draft.project}/${draft.id}`]);
  return recovered.length === 0 ? 'none' : 'recovered';
}

describe.each(table)('%s', (_name, step, outcomes) => {
  it.each(states.map((state, i) => ({ state, outcome: outcomes[i] ?? '' })))(
    'of a draft that is $state: $outcome',
    async ({ state, outcome }) => {
      const draft = makeDraft({ id: `node-${state}` });
      await bringTo(store, draft, state);
      const before = { rows: allRows(path), audit: (await store.audit.head())?.seq ?? 0 };
      const given = await step(draft);
      const kind = typeof given === 'string' ? given : (given as { kind: string }).kind;
      const now = (await store.drafts.get(draft.project, draft.id))?.draft.state;
      const changed = allRows(path) !== before.rows;
      expect(changed ? `${kind} → ${now}` : kind).toBe(outcome);
      expect((await store.audit.head())?.seq ?? 0).toBe(before.audit + (changed ? 1 : 0));
    },
  );
});

describe('a draft', () => {
  it('has what was put, by whom and when', async () => {
    const draft = makeDraft();
    const put = await steps.put(store, draft);
    const expected = {
      project: 'default',
      id: 'csv-profile',
      version: '1.0.0',
      revision: draft.revision,
      title: 'Node csv-profile',
      state: 'draft',
      createdBy: 'local:uid=7',
      createdAt: '2026-09-21T14:13:20.000Z',
      updatedBy: 'local:uid=7',
      updatedAt: '2026-09-21T14:13:20.000Z',
      artifact: null,
    };
    expect(put).toEqual({ kind: 'created', draft: expected });
    expect(await store.drafts.get('default', 'csv-profile')).toEqual({
      draft: expected,
      snapshot: draft.snapshot,
      report: null,
      passed: null,
    });
  });

  it('keeps who created it when another replaces its revision', async () => {
    await steps.put(store, makeDraft());
    const replacing = { ...eventOf(makeDraft(), 'draft.put'), actor: 'someone else', atMs: atMs + 5000 };
    expect(await store.drafts.put(makeDraft({ salt: 1 }), replacing)).toMatchObject({
      kind: 'replaced',
      draft: {
        createdBy: 'local:uid=7',
        createdAt: '2026-09-21T14:13:20.000Z',
        updatedBy: 'someone else',
        updatedAt: '2026-09-21T14:13:25.000Z',
      },
    });
  });

  it.each([
    { what: 'what it passed with', state: 'passed' as const },
    { what: 'why it failed', state: 'failed' as const },
  ])('has the report and $what, until it is validated again', async ({ state }) => {
    const draft = makeDraft();
    await bringTo(store, draft, state);
    const passed = state === 'passed' ? passedOf(draft) : null;
    expect(await store.drafts.get('default', draft.id)).toMatchObject({
      draft: { state, artifact: passed?.artifact ?? null },
      report: reportOf(draft, state === 'passed'),
      passed,
    });
    await steps.begin(store, draft, 'again');
    expect(await store.drafts.get('default', draft.id)).toMatchObject({
      draft: { state: 'validating', artifact: null },
      report: null,
      passed: null,
    });
  });

  it('takes no report about another revision, another node or another verdict', async () => {
    const draft = makeDraft();
    await bringTo(store, draft, 'validating');
    const end = (report = reportOf(draft, true), result: ReturnType<typeof passedOf> | null = passedOf(draft)) =>
      store.drafts.endValidation(
        { validation: holder(draft), atMs, report, result },
        eventOf(draft, 'draft.validation-ended'),
      );
    const before = allRows(path);
    for (const wrong of [
      end(reportOf(other(draft), true)),
      end(reportOf(makeDraft({ id: 'another-node' }), true)),
      end(reportOf(draft, false)),
      end(reportOf(draft, true), null),
    ])
      await expect(wrong).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(allRows(path)).toBe(before);
    expect(await end()).toMatchObject({ kind: 'ended' });
  });

  it('is given back as the end of its validation left it', async () => {
    const draft = makeDraft();
    await bringTo(store, draft, 'validating');
    const event = { ...eventOf(draft, 'draft.validation-ended'), actor: 'who ended it' };
    const end = { validation: holder(draft), atMs: atMs + 1, report: reportOf(draft, true), result: passedOf(draft) };
    const ended = await store.drafts.endValidation(end, event);
    expect(ended).toMatchObject({ draft: { state: 'passed', updatedBy: 'who ended it' } });
    expect(ended).toEqual({ kind: 'ended', draft: (await store.drafts.get('default', draft.id))?.draft });
    await steps.begin(store, draft, 'again');
    const abandoned = await store.drafts.abandonValidation('again', eventOf(draft, 'draft.validation-abandoned'));
    expect(abandoned).toMatchObject({ draft: { state: 'draft', artifact: null } });
    expect(abandoned).toEqual({ kind: 'abandoned', draft: (await store.drafts.get('default', draft.id))?.draft });
  });

  it('is not the draft of the same node in another project', async () => {
    const [one, two] = [makeDraft({ project: 'one' }), makeDraft({ project: 'two', salt: 'theirs' })];
    await bringTo(store, one, 'released');
    expect(await steps.put(store, two)).toMatchObject({ kind: 'created' });
    expect(await steps.begin(store, two, 'theirs')).toBe('begun');
    expect(await store.drafts.get('one', one.id)).toMatchObject({
      draft: { revision: one.revision, state: 'released' },
    });
    expect(await store.drafts.get('two', two.id)).toMatchObject({
      draft: { revision: two.revision, state: 'validating' },
    });
    await steps.end(store, two, 'theirs', passedOf(two));
    expect(await steps.publish(store, two)).toMatchObject({
      kind: 'published',
      release: { ref: 'two/csv-profile@1.0.0' },
    });
    expect(await store.releases.find('one', one.id, 'newest')).toMatchObject({ revision: one.revision });
    expect(await store.drafts.get('three', one.id)).toBeUndefined();
  });

  it('is listed by id, in pages, within its project', async () => {
    for (const id of ['node-c', 'node-a', 'node-b']) await steps.put(store, makeDraft({ id }));
    await steps.put(store, makeDraft({ id: 'node-0', project: 'other' }));
    const ids = async (query: Partial<Parameters<Store['drafts']['list']>[0]>): Promise<string[]> =>
      (await store.drafts.list({ project: 'default', limit: 10, ...query })).map(({ id }) => id);
    expect(await ids({})).toEqual(['node-a', 'node-b', 'node-c']);
    expect(await ids({ limit: 2 })).toEqual(['node-a', 'node-b']);
    expect(await ids({ limit: 2, after: 'node-b' })).toEqual(['node-c']);
    expect(await ids({ limit: -1 })).toEqual([]);
    expect(await ids({ project: 'other' })).toEqual(['node-0']);
  });

  it('cannot be held by a validation that holds another one', async () => {
    const [one, two] = [makeDraft({ id: 'node-one' }), makeDraft({ id: 'node-two' })];
    for (const draft of [one, two]) await steps.put(store, draft);
    await steps.begin(store, one, 'the same');
    await expect(steps.begin(store, two, 'the same')).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    expect(await steps.begin(store, two, 'its own')).toBe('begun');
  });
});

describe('recovery', () => {
  const drafts = ['node-dead', 'node-alive', 'node-unknown'].map((id) => makeDraft({ id }));
  const [ofDead, ofAlive, ofUnknown] = drafts as [PutDraft, PutDraft, PutDraft];
  const unknown = { ...owner, pidSpace: 'nobody can tell' };

  beforeEach(async () => {
    for (const draft of drafts) await steps.put(store, draft);
    await steps.begin(store, ofDead, 'of the dead', dead);
    await steps.begin(store, ofAlive, 'of the living', owner);
    await steps.begin(store, ofUnknown, 'of the unknown', unknown);
  });

  const stateOf = async ({ project, id }: PutDraft): Promise<DraftState | undefined> =>
    (await store.drafts.get(project, id))?.draft.state;

  it('frees the drafts of dead owners, leaves all others alone, and says so once', async () => {
    const isDead = (candidate: typeof owner): boolean => candidate.pid === dead.pid;
    expect(await store.drafts.recoverValidations(isDead, atMs + 9.5)).toEqual(['default/node-dead']);
    expect(await Promise.all(drafts.map(stateOf))).toEqual(['draft', 'validating', 'validating']);
    expect(
      (await store.audit.list({ limit: 10, action: 'draft.validation-abandoned' })).map(({ hash, ...rest }) => rest),
    ).toEqual([
      {
        seq: 7,
        atMs: atMs + 9,
        actor: 'system',
        project: 'default',
        action: 'draft.validation-abandoned',
        subject: 'default/node-dead',
        details: { revision: ofDead.revision, validation: 'of the dead', reason: 'its process is gone' },
        previous: expect.stringMatching(/^sha256:/),
      },
    ]);
    expect(await store.drafts.recoverValidations(isDead, atMs)).toEqual([]);
    expect(await steps.end(store, ofDead, 'of the dead', passedOf(ofDead))).toBe('stale');
    expect(await steps.begin(store, ofDead, 'the next')).toBe('begun');
    expect(await steps.end(store, ofAlive, 'of the living', passedOf(ofAlive))).toBe('ended');
  });

  it('frees nothing when the judgement itself fails', async () => {
    const failing = store.drafts.recoverValidations(() => {
      throw new Error('cannot tell');
    }, atMs);
    await expect(failing).rejects.toThrow('cannot tell');
    expect(await Promise.all(drafts.map(stateOf))).toEqual(['validating', 'validating', 'validating']);
  });

  it('leaves a validation alone that has gone over to another owner since it was judged', async () => {
    const second = await openStore(path, { inThread: true });
    let handedOver: Promise<unknown> = Promise.resolve();
    const recovered = await store.drafts.recoverValidations((candidate) => {
      if (candidate.pid !== dead.pid) return false;
      // In this thread each call has done its work when it returns.
      handedOver = Promise.all([
        second.drafts.abandonValidation('of the dead', eventOf(ofDead, 'draft.validation-abandoned')),
        steps.begin(second, ofDead, 'of the dead', owner),
      ]);
      return true;
    }, atMs);
    expect(await handedOver).toMatchObject([{ kind: 'abandoned' }, 'begun']);
    expect(recovered).toEqual([]);
    expect(await stateOf(ofDead)).toBe('validating');
    await second.close();
  });
});
