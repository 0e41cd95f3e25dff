/** Writes one run, tells its id, and ends without closing the store: `leaver.ts <database>`. */
import { openRunStore } from '@glovebox/store-sqlite';
import { makeRun } from './records.ts';

const [path = ''] = process.argv.slice(2);
const store = await openRunStore(path);
const { run, attempt } = makeRun();
await store.create(run, attempt);
console.log(run.id);
