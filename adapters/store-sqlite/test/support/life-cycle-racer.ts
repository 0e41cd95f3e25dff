/**
 * Goes for the same transition of each draft as others at the same time:
 * `life-cycle-racer.ts <database> <begin|publish> <name> <node id>…`. Tells each answer, as `<node id> <answer>`.
 */
import { openStore } from '@glovebox/store-sqlite';
import { makeDraft, steps } from './drafts.ts';

const [path = '', transition = '', name = '', ...ids] = process.argv.slice(2);
const store = await openStore(path, { busyTimeoutMs: 60_000 });
for (const id of ids) {
  const draft = makeDraft({ id });
  const answer =
    transition === 'begin'
      ? await steps.begin(store, draft, `${name} of ${id}`)
      : (await steps.publish(store, draft)).kind;
  console.log(`${id} ${answer}`);
}
await store.close();
