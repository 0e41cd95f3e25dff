import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { openStore, type Store } from '../src/index.ts';
import { checkDatabase } from './support/check-database.ts';
import { makeDraft, passedOf, steps } from './support/drafts.ts';
import { LifeCycleModel } from './support/life-cycle-model.ts';
import { makeDirectory } from './support/records.ts';

/** Weighted, so that a walk gets through the whole life now and then. */
const often = <T>(...choices: [weight: number, value: T][]): fc.Arbitrary<T> =>
  fc.oneof(...choices.map(([weight, value]) => ({ weight, arbitrary: fc.constant(value) })));

const command = fc.record({
  name: often(
    [2, 'put'],
    [3, 'begin'],
    [4, 'pass'],
    [1, 'fail'],
    [1, 'abandon'],
    [1, 'recover'],
    [4, 'publish'],
    [2, 'state'],
  ),
  id: often([3, 'node-a'], [1, 'node-b']),
  version: often([2, '1.0.0'], [1, '2.0.0']),
  salt: often([4, 0], [1, 1]),
  /** Of what the draft is at, rather than of the members above. */
  aimed: often([3, true], [1, false]),
  validation: often([4, 'first'], [1, 'second']),
  toolchain: often([2, 'node@26'], [1, 'node@27']),
  state: fc.constantFrom(
    ['deprecated', 'old'] as const,
    ['deprecated', 'older'] as const,
    ['active', null] as const,
    ['revoked', 'bad'] as const,
  ),
});
type Command = typeof command extends fc.Arbitrary<infer T> ? T : never;

/** One command, to the store and to the model. */
async function perform(store: Store, model: LifeCycleModel, given: Command): Promise<{ store: string; model: string }> {
  const current = model.drafts.get(given.id)?.draft;
  const draft = given.aimed && given.name !== 'put' && current ? current : makeDraft(given);
  const validation = `${given.validation} of ${given.id}`;
  const held = model.holder(validation) ?? draft;
  const kind = async (answer: Promise<{ kind: string }>): Promise<string> => (await answer).kind;
  switch (given.name) {
    case 'put':
      return { model: model.put(draft), store: await kind(steps.put(store, draft)) };
    case 'begin':
      return { model: model.begin(draft, validation), store: await steps.begin(store, draft, validation) };
    case 'pass':
    case 'fail': {
      const passed = given.name === 'pass' ? passedOf(held, given.toolchain) : null;
      return { model: model.end(validation, passed), store: await steps.end(store, held, validation, passed) };
    }
    case 'abandon':
      return { model: model.abandon(validation), store: await steps.abandon(store, held, validation) };
    case 'recover': {
      const open = [...model.drafts.values()].flatMap((each) => each.validation ?? []);
      for (const each of open) model.abandon(each);
      const recovered = await store.drafts.recoverValidations(() => true, 1);
      return { model: `recovered ${open.length}`, store: `recovered ${recovered.length}` };
    }
    case 'publish': {
      const passed = passedOf(draft, given.toolchain);
      return { model: model.publish(draft, passed), store: await kind(steps.publish(store, draft, passed)) };
    }
    case 'state': {
      const [state, reason] = given.state;
      return {
        model: model.setState(draft, state, reason),
        store: await kind(steps.setState(store, draft, state, reason)),
      };
    }
    default:
      throw new Error(`no such command: ${given.name}`);
  }
}

it('answers and stands as a simple model does, on any walk', async () => {
  const seen = new Set<string>();
  await fc.assert(
    fc.asyncProperty(fc.array(command, { minLength: 80, maxLength: 120, size: 'max' }), async (commands) => {
      const home = makeDirectory();
      const path = join(home.dir, 'glovebox.db');
      const store = await openStore(path, { inThread: true });
      try {
        const model = new LifeCycleModel();
        for (const given of commands) {
          const answers = await perform(store, model, given);
          expect({ given, answer: answers.store }).toEqual({ given, answer: answers.model });
          seen.add(`${given.name} ${answers.store}`);
        }
        const drafts = await store.drafts.list({ project: 'default', limit: 100 });
        expect(drafts.map(({ id, revision, state, artifact }) => ({ id, revision, state, artifact }))).toEqual(
          [...model.drafts.values()]
            .map(({ draft, state, passed }) => ({
              id: draft.id,
              revision: draft.revision,
              state,
              artifact: passed?.artifact ?? null,
            }))
            .sort((a, b) => (a.id < b.id ? -1 : 1)),
        );
        const releases = await store.releases.list({ project: 'default', limit: 100 });
        expect(
          Object.fromEntries(
            releases.map(({ id, version, digest, revision, state, reason }) => [
              `${id}@${version}`,
              { digest, revision, state, reason },
            ]),
          ),
        ).toEqual(
          Object.fromEntries(
            [...model.releases].map(([ref, { passed, revision, state, reason }]) => [
              ref,
              { digest: passed.artifact, revision, state, reason },
            ]),
          ),
        );
        expect((await store.audit.list({ limit: 1000 })).map(({ action }) => action)).toEqual(model.audit);
      } finally {
        await store.close();
      }
      expect(checkDatabase(path)).toEqual([]);
      home.remove();
    }),
    { seed: 20_261_130, numRuns: 30 },
  );
  // Not vacuous: every answer was met.
  expect([...seen].sort()).toEqual(
    expect.arrayContaining([
      'abandon abandoned',
      'abandon stale',
      'begin absent',
      'begin begun',
      'begin busy',
      'begin released',
      'begin stale',
      'fail ended',
      'fail stale',
      'pass ended',
      'publish absent',
      'publish not-passed',
      'publish published',
      'publish stale',
      'publish unchanged',
      'publish version-exists',
      'put busy',
      'put created',
      'put replaced',
      'put unchanged',
      'put version-released',
      'recover recovered 0',
      'recover recovered 1',
      'recover recovered 2',
      'state absent',
      'state changed',
      'state revoked',
      'state unchanged',
    ]),
  );
});
