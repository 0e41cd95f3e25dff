import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkDatabase } from '../test/support/check-database.ts';
import { atMs, bringTo, digestOf, makeDraft, type PutDraft, passedOf, steps } from '../test/support/drafts.ts';
import { makeDirectory, makeEnd, makeRun } from '../test/support/records.ts';
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

const states = ['absent', 'active', 'deprecated', 'revoked'] as const;
type State = (typeof states)[number];
const image = passedOf(makeDraft()).image;

async function released(draft: PutDraft, state: State = 'active'): Promise<void> {
  if (state === 'absent') return;
  await bringTo(store, draft, 'released');
  if (state !== 'active') await steps.setState(store, draft, state, 'the first reason');
}

/** Outcome of each change for a release in each of the states; after `→`, its state and reason then. Without one nothing is written. */
const table: [name: string, change: (draft: PutDraft) => Promise<{ kind: string }>, outcomes: readonly string[]][] = [
  [
    'deprecating for the first reason',
    (draft) => steps.setState(store, draft, 'deprecated', 'the first reason'),
    ['absent', 'changed → deprecated: the first reason', 'unchanged', 'revoked'],
  ],
  [
    'deprecating for another reason',
    (draft) => steps.setState(store, draft, 'deprecated', 'another reason'),
    ['absent', 'changed → deprecated: another reason', 'changed → deprecated: another reason', 'revoked'],
  ],
  [
    'taking back a deprecation',
    (draft) => steps.setState(store, draft, 'active', null),
    ['absent', 'unchanged', 'changed → active: null', 'revoked'],
  ],
  [
    'revoking',
    (draft) => steps.setState(store, draft, 'revoked', 'another reason'),
    ['absent', 'changed → revoked: another reason', 'changed → revoked: another reason', 'unchanged'],
  ],
  [
    'going over to another image',
    (draft) => steps.setImage(store, draft, image, digestOf('another image')),
    ['absent', 'changed → active: null', 'changed → deprecated: the first reason', 'revoked'],
  ],
  [
    'going over to another image from one that it is not at',
    (draft) => steps.setImage(store, draft, digestOf('an older image'), digestOf('another image')),
    ['absent', 'stale', 'stale', 'revoked'],
  ],
  [
    'publishing the same digest again',
    (draft) => steps.publish(store, draft),
    ['absent', 'unchanged', 'unchanged', 'unchanged'],
  ],
];

describe.each(table)('%s', (_name, change, outcomes) => {
  it.each(states.map((state, i) => ({ state, outcome: outcomes[i] ?? '' })))(
    'of a release that is $state: $outcome',
    async ({ state, outcome }) => {
      const draft = makeDraft();
      await released(draft, state);
      const before = { rows: allRows(path), audit: (await store.audit.head())?.seq ?? 0 };
      const { kind, ...rest } = await change(draft);
      const now = await store.releases.find('default', draft.id, { version: '1.0.0' });
      const changed = allRows(path) !== before.rows;
      expect(changed ? `${kind} → ${now?.state}: ${now?.reason}` : kind).toBe(outcome);
      expect((await store.audit.head())?.seq ?? 0).toBe(before.audit + (changed ? 1 : 0));
      expect(rest).toEqual(kind === 'changed' || kind === 'unchanged' ? { release: now } : {});
    },
  );
});

describe('a release', () => {
  it('has what has passed, under a reference', async () => {
    const draft = makeDraft();
    await bringTo(store, draft, 'passed');
    const expected = {
      ref: 'default/csv-profile@1.0.0',
      project: 'default',
      id: 'csv-profile',
      version: '1.0.0',
      title: 'Node csv-profile',
      digest: passedOf(draft).artifact,
      revision: draft.revision,
      image: passedOf(draft).image,
      permissions: passedOf(draft).permissions,
      state: 'active',
      reason: null,
      publishedBy: 'local:uid=8',
      publishedAt: '2026-09-21T14:13:20.000Z',
      changedAt: '2026-09-21T14:13:20.000Z',
    };
    expect(await steps.publish(store, draft)).toEqual({ kind: 'published', release: expected });
    for (const select of ['newest', { version: '1.0.0' }, { digest: passedOf(draft).artifact }] as const)
      expect(await store.releases.find('default', draft.id, select)).toEqual(expected);
    expect(await store.drafts.get('default', draft.id)).toMatchObject({ draft: { state: 'released' } });
  });

  it('stays as it is when its draft goes on to the next version, which is released beside it', async () => {
    const [one, two] = [makeDraft(), makeDraft({ version: '2.0.0' })];
    await released(one);
    const first = await store.releases.find('default', one.id, { version: '1.0.0' });
    await released(two);
    expect(await store.releases.find('default', one.id, { version: '1.0.0' })).toEqual(first);
    expect(await store.releases.find('default', one.id, 'newest')).toMatchObject({ version: '2.0.0' });
  });

  it('is not replaced by another artifact of the same revision, and is found again by the same one', async () => {
    const [one, two] = [makeDraft(), makeDraft({ version: '2.0.0' })];
    await released(one);
    const first = await store.releases.find('default', one.id, { version: '1.0.0' });
    await steps.put(store, two);
    expect(await steps.put(store, one)).toMatchObject({ kind: 'replaced', draft: { state: 'draft' } });
    await steps.begin(store, one, 'with new tools');
    const otherwise = passedOf(one, 'node@27');
    await steps.end(store, one, 'with new tools', otherwise);
    const before = allRows(path);
    expect(await steps.publish(store, one, otherwise)).toEqual({ kind: 'version-exists', release: first });
    expect(allRows(path)).toBe(before);
    await steps.begin(store, one, 'with the old tools');
    await steps.end(store, one, 'with the old tools', passedOf(one));
    expect(await steps.publish(store, one)).toEqual({ kind: 'unchanged', release: first });
  });

  it('has what passed last, and nothing that was looked at before that', async () => {
    const draft = makeDraft();
    await steps.put(store, draft);
    await steps.begin(store, draft, 'once more');
    const last = passedOf(draft, 'node@27');
    await steps.end(store, draft, 'once more', last);
    const before = allRows(path);
    expect(await steps.publish(store, draft)).toEqual({ kind: 'stale' });
    expect(allRows(path)).toBe(before);
    expect(await steps.publish(store, draft, last)).toMatchObject({
      kind: 'published',
      release: { digest: last.artifact },
    });
  });

  it('needs a reason to be deprecated or revoked, and has none while it is active', async () => {
    const draft = makeDraft();
    await released(draft);
    const wrong = [
      ['deprecated', null],
      ['revoked', null],
      ['active', 'a reason'],
    ] as const;
    for (const [state, reason] of wrong)
      await expect(steps.setState(store, draft, state, reason)).rejects.toMatchObject({ code: 'INTERNAL' });
    expect(await steps.setState(store, draft, 'deprecated', 'use another')).toMatchObject({
      kind: 'changed',
      release: { reason: 'use another', changedAt: '2026-09-21T14:13:20.001Z' },
    });
  });
});

describe('the newest release', () => {
  const versions = ['1.0.0', '1.9.0', '1.10.0', '2.0.0-rc.1', '2.0.0-rc.2'];
  const of = (version: string): PutDraft => makeDraft({ version });
  const newest = async (): Promise<string | undefined> =>
    (await store.releases.find('default', 'csv-profile', 'newest'))?.version;

  beforeEach(async () => {
    // Published in another order than that of their versions.
    for (const version of [...versions].reverse()) await released(of(version));
  });

  it('is the highest by semver that is no prerelease, deprecated or not, and never a revoked one', async () => {
    expect(await newest()).toBe('1.10.0');
    await steps.setState(store, of('1.10.0'), 'deprecated', 'old');
    expect(await newest()).toBe('1.10.0');
    for (const [revoked, next] of [
      ['1.10.0', '1.9.0'],
      ['1.9.0', '1.0.0'],
      ['1.0.0', '2.0.0-rc.2'],
      ['2.0.0-rc.2', '2.0.0-rc.1'],
      ['2.0.0-rc.1', undefined],
    ] as const) {
      await steps.setState(store, of(revoked), 'revoked', 'bad');
      expect(await newest()).toBe(next);
    }
    expect(await store.releases.find('default', 'csv-profile', { version: '1.0.0' })).toMatchObject({
      state: 'revoked',
    });
  });

  it('comes first in a list, in pages, by id', async () => {
    await released(makeDraft({ id: 'another-node', version: '3.0.0' }));
    await released(makeDraft({ project: 'other' }));
    const refs = async (query: Partial<Parameters<Store['releases']['list']>[0]>): Promise<string[]> =>
      (await store.releases.list({ project: 'default', limit: 10, ...query })).map(({ ref }) => ref);
    const all = ['another-node@3.0.0', ...[...versions].reverse().map((version) => `csv-profile@${version}`)].map(
      (name) => `default/${name}`,
    );
    expect(await refs({})).toEqual(all);
    expect(await refs({ limit: 3 })).toEqual(all.slice(0, 3));
    expect(await refs({ limit: 3, after: { id: 'csv-profile', version: '2.0.0-rc.1' } })).toEqual(all.slice(3));
    expect(await refs({ id: 'csv-profile', after: { id: 'csv-profile', version: '1.10.0' } })).toEqual(all.slice(4));
    expect(await refs({ id: 'another-node' })).toEqual(all.slice(0, 1));
    expect(await refs({ limit: -1 })).toEqual([]);
    expect(await refs({ project: 'other' })).toEqual(['other/csv-profile@1.0.0']);
  });
});

describe('a run by reference', () => {
  const draft = makeDraft();
  const release = { ref: 'default/csv-profile@1.0.0', digest: passedOf(draft).artifact };
  const node = { id: 'csv-profile', version: '1.0.0', revision: draft.revision, title: 'CSV profile' };

  beforeEach(() => released(draft));

  it('is kept with its release, and its end is audited with it', async () => {
    const { run, attempt } = makeRun({ mode: 'release', release, node });
    await store.runs.create(run, attempt);
    await store.runs.finish(attempt.id, makeEnd({ endedAtMs: atMs + 0.75 }));
    expect((await store.runs.get('default', run.id))?.run).toEqual(run);
    expect(await store.audit.list({ limit: 10, subject: attempt.id })).toMatchObject([
      {
        atMs,
        actor: run.actor,
        project: 'default',
        action: 'attempt.ended',
        details: {
          run: run.id,
          state: 'SUCCEEDED',
          receiptDigest: makeEnd().receiptDigest,
          release: release.ref,
        },
      },
    ]);
  });

  it('is refused once the release is revoked, which it may be after the caller has looked', async () => {
    await steps.setState(store, draft, 'deprecated', 'use another');
    const deprecated = makeRun({ mode: 'release', release, node });
    await store.runs.create(deprecated.run, deprecated.attempt);
    await steps.setState(store, draft, 'revoked', 'it is bad');
    const { run, attempt } = makeRun({ mode: 'release', release, node });
    await expect(store.runs.create(run, attempt)).rejects.toMatchObject({
      code: 'RELEASE_REVOKED',
      message: 'default/csv-profile@1.0.0 is revoked: it is bad',
    });
    expect(await store.runs.get('default', run.id)).toBeUndefined();
  });

  it('is refused when it is not of that release', async () => {
    const wrong: [code: string, over: Parameters<typeof makeRun>[0]][] = [
      ['NOT_FOUND', { mode: 'release', release: { ...release, ref: 'default/csv-profile@1.0.1' }, node }],
      ['INTERNAL', { mode: 'release', release: { ...release, digest: digestOf('other') }, node }],
      ['INTERNAL', { mode: 'release', release, node: { ...node, revision: digestOf('other') } }],
      ['INTERNAL', { mode: 'release', release, node: { ...node, id: 'another-node' } }],
      ['INTERNAL', { mode: 'release', release, node: { ...node, version: '1.0.1' } }],
      ['INTERNAL', { mode: 'release', release, node, project: 'other' }],
      ['INTERNAL', { mode: 'release', release: null, node }],
      ['INTERNAL', { mode: 'trial', release, node }],
    ];
    for (const [code, over] of wrong) {
      const { run, attempt } = makeRun(over);
      await expect(store.runs.create(run, attempt)).rejects.toMatchObject({ code });
      expect(await store.runs.get(run.project, run.id)).toBeUndefined();
    }
  });
});
