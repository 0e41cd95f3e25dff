import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { canonicalJson } from '@glovebox/artifact';
import { defaultEgressPolicy, type EgressPolicy, egressPolicySchema } from '@glovebox/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkDatabase } from '../test/support/check-database.ts';
import { makeDirectory } from '../test/support/records.ts';
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
  home.remove();
});

const policyOf = (name: string): EgressPolicy =>
  egressPolicySchema.parse({ denials: [{ id: name, host: `${name}.example.com`, reason: 'ß \u2028 "why"' }] });
const digestOf = (policy: EgressPolicy): string =>
  `sha256:${createHash('sha256').update(canonicalJson(policy)).digest('hex')}`;
const actor = 'local:uid=7';
const set = (policy: EgressPolicy, expected: number, project = 'default'): Promise<'set' | 'stale'> =>
  store.egressPolicies.set(project, policy, expected, actor, 1_790_000_000_000.5);

describe('the egress policy of a project', () => {
  it('is the default at revision 0 until one is set', async () => {
    const unset = { policy: defaultEgressPolicy, revision: 0, changedAt: null, changedBy: null };
    expect(await store.egressPolicies.get('default')).toEqual(unset);
    expect(await set(policyOf('one'), 0)).toBe('set');
    expect(await store.egressPolicies.get('other')).toEqual(unset);
  });

  it('is what was set last, at the next revision, and each is in the audit chain with its digest', async () => {
    const [one, two] = [policyOf('one'), policyOf('two')];
    expect([await set(one, 0), await set(two, 1)]).toEqual(['set', 'set']);
    expect(await store.egressPolicies.get('default')).toEqual({
      policy: two,
      revision: 2,
      changedAt: 1_790_000_000_000.5,
      changedBy: actor,
    });
    expect(await store.audit.list({ limit: 10, action: 'policy.set' })).toMatchObject([
      {
        actor,
        project: 'default',
        subject: 'default',
        details: { revision: 1, digest: digestOf(one), previous: null },
      },
      {
        atMs: 1_790_000_000_000,
        subject: 'default',
        details: { revision: 2, digest: digestOf(two), previous: digestOf(one) },
      },
    ]);
    expect(checkDatabase(path)).toEqual([]);
  });

  it('stays as it is, unaudited, for whoever expects another revision', async () => {
    await set(policyOf('one'), 0);
    const before = allRows(path);
    for (const expected of [0, 2, -1, 0.5]) expect(await set(policyOf('two'), expected)).toBe('stale');
    expect(allRows(path)).toBe(before);
    expect(await set(policyOf('two'), 1)).toBe('set');
  });

  it('is set by one of two that race', async () => {
    const other = await openStore(path);
    const outcomes = await Promise.all([
      set(policyOf('one'), 0),
      other.egressPolicies.set('default', policyOf('two'), 0, actor, 1),
    ]);
    expect(outcomes.toSorted()).toEqual(['set', 'stale']);
    await other.close();
    expect(await store.egressPolicies.get('default')).toMatchObject({ revision: 1 });
  });

  it('is refused, whole, when it is not what was set', async () => {
    await set(policyOf('one'), 0);
    const db = new DatabaseSync(path);
    db.exec('DROP TRIGGER egress_policies_no_update');
    db.prepare('UPDATE egress_policies SET policy_text = ?').run(canonicalJson(defaultEgressPolicy));
    await expect(store.egressPolicies.get('default')).rejects.toMatchObject({ code: 'EGRESS_POLICY_INVALID' });
    db.prepare('UPDATE egress_policies SET policy_text = ?').run(canonicalJson(policyOf('one')));
    db.close();
    expect(await store.egressPolicies.get('default')).toMatchObject({ policy: policyOf('one') });
  });

  it('is refused, whole, when it says what this version does not know', async () => {
    const later = { ...policyOf('one'), denials: [], refusals: ['everything'] } as unknown as EgressPolicy;
    await set(later, 0);
    await expect(store.egressPolicies.get('default')).rejects.toMatchObject({ code: 'EGRESS_POLICY_INVALID' });
  });

  it.each([
    ['a revision that changes', "UPDATE egress_policies SET changed_by = 'nobody'"],
    ['a revision that is removed', 'DELETE FROM egress_policies'],
    ['a revision that takes the place of one', copy('revision', 'revision')],
    ['a revision that takes the row of one', copy('rowid, revision', '1, 3')],
    ['a gap', copy('revision', '4')],
  ])('has not %s, whoever writes', async (_what, sql) => {
    await set(policyOf('one'), 0);
    await set(policyOf('two'), 1);
    const before = allRows(path);
    const db = new DatabaseSync(path);
    expect(() => db.exec(sql)).toThrow(/never|does not follow/);
    expect(allRows(path)).toBe(before);
    db.exec(copy('revision', '3'));
    db.close();
    expect(await store.egressPolicies.get('default')).toMatchObject({ revision: 3 });
  });
});

/** The second revision once more, under another number. */
function copy(columns: string, values: string): string {
  const rest = 'project, digest, changed_by, changed_ms, policy_text';
  return `INSERT OR REPLACE INTO egress_policies (${columns}, ${rest}) SELECT ${values}, ${rest} FROM egress_policies WHERE revision = 2`;
}
