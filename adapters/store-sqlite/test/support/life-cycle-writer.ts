/**
 * Leads drafts through their whole life until it is killed: `life-cycle-writer.ts <database> <worker|caller> <name> <seed>`.
 * Each change that the store has acknowledged is told on standard output, one line each: `<subject> <action>`.
 */
import { writeSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import type { AuditAction } from '@glovebox/contract';
import { newInstanceId } from '@glovebox/contract';
import { isDead, ownIdentity } from '@glovebox/engine/host';
import { openStore } from '@glovebox/store-sqlite';
import { makeDraft, type PutDraft, passedOf, steps } from './drafts.ts';
import { fractions } from './fractions.ts';
import { makeEnd, makeRun } from './records.ts';

const [path = '', thread = '', name = '', seed = ''] = process.argv.slice(2);
const fraction = fractions(Number(seed));
const owner = ownIdentity(newInstanceId());
const store = await openStore(path, { inThread: thread === 'caller' });
const tell = (subject: string, action: AuditAction): void => {
  writeSync(1, `${subject} ${action}\n`);
};
const refOf = ({ project, id, version }: PutDraft): string => `${project}/${id}@${version}`;

/** From nothing to a revoked release, with a run of it; now and then it stops or fails on the way. */
async function live(draft: PutDraft, i: number): Promise<void> {
  const ref = refOf(draft);
  const validation = `${process.pid} ${ref} ${i}`;
  const put = await steps.put(store, draft);
  if (put.kind === 'created' || put.kind === 'replaced') tell(ref, 'draft.put');
  if ((await steps.begin(store, draft, validation, owner)) !== 'begun') return;
  tell(ref, 'draft.validation-began');
  // A validation takes its time, so that some are killed in it.
  await setTimeout(fraction() * 10);
  const luck = fraction();
  if (luck < 0.1) {
    if ((await steps.abandon(store, draft, validation)) === 'abandoned') tell(ref, 'draft.validation-abandoned');
    return;
  }
  const passed = luck < 0.2 ? null : passedOf(draft);
  if ((await steps.end(store, draft, validation, passed)) === 'ended') tell(ref, 'draft.validation-ended');
  if (passed === null || (await steps.publish(store, draft)).kind !== 'published') return;
  tell(ref, 'release.published');
  const { run, attempt } = makeRun(
    {
      mode: 'release',
      release: { ref, digest: passed.artifact },
      node: { id: draft.id, version: draft.version, revision: draft.revision, title: draft.title },
    },
    owner,
  );
  await store.runs.create(run, attempt);
  if ((await store.runs.finish(attempt.id, makeEnd())) === 'finished') tell(attempt.id, 'attempt.ended');
  await steps.setState(store, draft, 'deprecated', 'there is a newer one');
  tell(ref, 'release.deprecated');
  await steps.setState(store, draft, 'revoked', 'it is bad');
  tell(ref, 'release.revoked');
}

await store.drafts.recoverValidations(isDead, Date.now());
await store.runs.markLost(isDead, Date.now());
writeSync(1, 'open\n');
for (let i = 0; ; i++) {
  // Some ids are this process's alone, and some are every writer's.
  const id = fraction() < 0.5 ? `node-${name}` : 'node-shared';
  await live(makeDraft({ id, version: `1.${process.pid}.${i}`, salt: i }), i);
}
