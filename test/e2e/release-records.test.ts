import type { Release } from '@glovebox/contract';
import {
  deprecateRelease,
  listNodes,
  listReleases,
  maxReasonLength,
  resolveRelease,
  revokeRelease,
  undeprecateRelease,
} from '@glovebox/engine';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestRecords, putDraft, recordRelease, type TestRecords } from '../support/release-records.ts';

let records: TestRecords;
beforeAll(async () => {
  records = await openTestRecords();
});
afterAll(() => records.close());

const actor = 'local:uid=7';
/** A project of its own for each test. */
let project: string;
let projects = 0;
beforeEach(() => {
  project = `project-${++projects}`;
});

async function versionsOf(id: string, ...versions: string[]): Promise<Release[]> {
  const releases = [];
  for (const version of versions) releases.push(await recordRelease(records, { project, id, version }));
  return releases;
}

const find = async (reference: string): Promise<string> =>
  (await resolveRelease(records.releases, project, reference)).ref;
const auditOf = async (subject: string): Promise<unknown[]> =>
  (await records.audit.list({ subject, limit: 100 })).map(({ action, actor: by, details }) => [action, by, details]);

describe('a reference', () => {
  it('finds the newest, a version, or a digest, with the project in front or without', async () => {
    const [one, two] = await versionsOf('node-a', '1.0.0', '1.10.0', '1.9.0');
    expect(await find('node-a')).toBe(`${project}/node-a@1.10.0`);
    expect(await find('node-a@1.9.0')).toBe(`${project}/node-a@1.9.0`);
    expect(await find(`node-a@${one?.digest}`)).toBe(`${project}/node-a@1.0.0`);
    expect(await find(`${project}/node-a`)).toBe(two?.ref);
    expect(await find(`${project}/node-a@1.0.0`)).toBe(one?.ref);
  });

  it.each([
    ['no such node', 'node-b'],
    ['no such version', 'node-a@2.0.0'],
    ['no such digest', `node-a@sha256:${'0'.repeat(64)}`],
  ])('to %s finds nothing', async (_, reference) => {
    await versionsOf('node-a', '1.0.0');
    await expect(find(reference)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('that names another project leads nowhere, whether there is one or not', async () => {
    await versionsOf('node-a', '1.0.0');
    const other = `${project}-other`;
    await recordRelease(records, { project: other, id: 'node-a' });
    for (const reference of [`${other}/node-a`, `${other}/node-a@1.0.0`, 'nowhere/node-a'])
      await expect(find(reference)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect((await resolveRelease(records.releases, other, `${other}/node-a`)).project).toBe(other);
  });

  it.each([
    '',
    'A',
    '../node-a',
    'a/b/node-a',
    'node-a@',
    'node-a@latest',
    'node-a@^1.0.0',
    'node-a@sha256:12',
    'x'.repeat(301),
  ])('is refused where it is none: %j', async (reference) => {
    await expect(find(reference)).rejects.toMatchObject({ code: 'REFERENCE_INVALID' });
  });
});

describe('revoking', () => {
  it('is for good, keeps its first reason, and is told once', async () => {
    const [release] = await versionsOf('node-a', '1.0.0');
    const change = { project, reference: 'node-a@1.0.0', actor };
    const first = await revokeRelease(records, { ...change, reason: ' It leaks memory. ' });
    expect(first).toMatchObject({ changed: true, release: { state: 'revoked', reason: 'It leaks memory.' } });
    const second = await revokeRelease(records, { ...change, reason: 'Another reason' });
    expect(second).toEqual({ changed: false, release: first.release });
    await expect(undeprecateRelease(records, change)).rejects.toMatchObject({ code: 'RELEASE_REVOKED' });
    await expect(deprecateRelease(records, { ...change, reason: 'Old' })).rejects.toMatchObject({
      code: 'RELEASE_REVOKED',
      details: { reason: 'It leaks memory.' },
    });
    const digest = release?.digest;
    expect((await auditOf(first.release.ref)).slice(3)).toEqual([
      ['release.published', 'local:uid=0', {}],
      ['release.revoked', actor, { digest, reason: 'It leaks memory.' }],
    ]);
  });

  it('makes the one before it the newest, and where every one is revoked the newest of all is found', async () => {
    await versionsOf('node-a', '1.0.0', '2.0.0');
    await revokeRelease(records, { project, reference: 'node-a@2.0.0', reason: 'Bad', actor });
    expect(await find('node-a')).toBe(`${project}/node-a@1.0.0`);
    await revokeRelease(records, { project, reference: 'node-a@1.0.0', reason: 'Bad', actor });
    expect(await resolveRelease(records.releases, project, 'node-a')).toMatchObject({
      version: '2.0.0',
      state: 'revoked',
    });
  });

  it('needs a version or a digest: the newest is another one tomorrow', async () => {
    const [release] = await versionsOf('node-a', '1.0.0');
    const reason = 'Bad';
    await expect(revokeRelease(records, { project, reference: 'node-a', reason, actor })).rejects.toMatchObject({
      code: 'REFERENCE_INVALID',
    });
    const reference = `node-a@${release?.digest}`;
    expect((await revokeRelease(records, { project, reference, reason, actor })).changed).toBe(true);
  });

  it.each([
    ['empty', '  '],
    ['too long', 'x'.repeat(maxReasonLength + 1)],
    ['two lines', 'one\ntwo'],
    ['two lines of Unicode', 'one\u2028two'],
    ['a terminal sequence', '\u001b[2Jgone'],
    ['half a surrogate pair', '\ud800'],
  ])('refuses a reason that is %s, and changes nothing', async (_, reason) => {
    await versionsOf('node-a', '1.0.0');
    const change = { project, reference: 'node-a@1.0.0', actor };
    await expect(revokeRelease(records, { ...change, reason })).rejects.toMatchObject({ code: 'REQUEST_INVALID' });
    expect((await resolveRelease(records.releases, project, 'node-a')).state).toBe('active');
    expect((await revokeRelease(records, { ...change, reason: 'x'.repeat(maxReasonLength) })).changed).toBe(true);
  });

  it('signs the audit chain up to it', async () => {
    await versionsOf('node-a', '1.0.0');
    await revokeRelease(records, { project, reference: 'node-a@1.0.0', reason: 'Bad', actor });
    const [head, checkpoints] = [await records.audit.head(), await records.audit.checkpoints()];
    expect(checkpoints.at(-1)).toMatchObject({ seq: head?.seq, hash: head?.hash });
  });
});

describe('deprecating', () => {
  it('says why, can be said otherwise, and can be taken back', async () => {
    await versionsOf('node-a', '1.0.0');
    const change = { project, reference: 'node-a@1.0.0', actor };
    const states = [
      await deprecateRelease(records, { ...change, reason: 'Use 2.x' }),
      await deprecateRelease(records, { ...change, reason: 'Use 2.x' }),
      await deprecateRelease(records, { ...change, reason: 'Use 3.x' }),
      await undeprecateRelease(records, change),
      await undeprecateRelease(records, change),
    ];
    expect(states.map(({ changed, release: { state, reason } }) => [changed, state, reason])).toEqual([
      [true, 'deprecated', 'Use 2.x'],
      [false, 'deprecated', 'Use 2.x'],
      [true, 'deprecated', 'Use 3.x'],
      [true, 'active', null],
      [false, 'active', null],
    ]);
    expect((await auditOf(`${project}/node-a@1.0.0`)).slice(4).map((entry) => (entry as string[])[0])).toEqual([
      'release.deprecated',
      'release.deprecated',
      'release.undeprecated',
    ]);
  });

  it('leaves the newest the newest', async () => {
    await versionsOf('node-a', '1.0.0', '2.0.0');
    await deprecateRelease(records, { project, reference: 'node-a@2.0.0', reason: 'Old', actor });
    expect(await find('node-a')).toBe(`${project}/node-a@2.0.0`);
  });
});

describe('lists', () => {
  it('have each node once, with its draft and its releases, newest first, and of no other project', async () => {
    await versionsOf('node-b', '1.0.0', '1.1.0');
    await putDraft(records, { project, id: 'node-b', version: '2.0.0' });
    await putDraft(records, { project, id: 'node-a' });
    await recordRelease(records, { project: `${project}-other`, id: 'node-c' });
    const nodes = await listNodes(records, { project });
    expect(
      nodes.map(({ id, draft, releases }) => [id, draft?.version, draft?.state, releases.map((r) => r.version)]),
    ).toEqual([
      ['node-a', '1.0.0', 'draft', []],
      ['node-b', '2.0.0', 'draft', ['1.1.0', '1.0.0']],
    ]);
    expect((await listReleases(records, { project })).map(({ ref }) => ref)).toEqual([
      `${project}/node-b@1.1.0`,
      `${project}/node-b@1.0.0`,
    ]);
    expect(await listReleases(records, { project, id: 'node-a' })).toEqual([]);
  });

  it('come in pages that have every node once, however small they are', async () => {
    for (const id of ['node-a', 'node-b', 'node-c', 'node-d', 'node-e']) await versionsOf(id, '1.0.0', '1.1.0');
    for (const id of ['node-b', 'node-bb', 'node-d']) await putDraft(records, { project, id, version: '3.0.0' });
    const whole = await listNodes(records, { project });
    expect(whole.map(({ id }) => id)).toEqual(['node-a', 'node-b', 'node-bb', 'node-c', 'node-d', 'node-e']);
    for (const limit of [1, 2, 4]) {
      const paged = [];
      for (let after: string | undefined; ; after = paged.at(-1)?.id) {
        const page = await listNodes(records, { project, limit, ...(after === undefined ? {} : { after }) });
        if (page.length === 0) break;
        expect(page.length).toBeLessThanOrEqual(limit);
        paged.push(...page);
      }
      expect(paged).toEqual(whole);
    }
  });
});
