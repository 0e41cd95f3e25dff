/** Writes one run, tells its id, and ends without closing the store: `leaver.ts <database>`. */
import { openStore } from '@glovebox/store-sqlite';
import { makeRun } from './records.ts';

const [path = ''] = process.argv.slice(2);
const store = await openStore(path);
const { run, attempt } = makeRun();
await store.runs.create(run, attempt);
console.log(run.id);
