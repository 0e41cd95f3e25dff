/**
 * Begins and then ends every attempt it is given, as others do at the same time: `racer.ts <database> <attempt>…`.
 * Tells each transition that it won, as `<attempt> begun` and `<attempt> finished`.
 */
import { openStore } from '@glovebox/store-sqlite';
import { makeEnd } from './records.ts';

const [path = '', ...attempts] = process.argv.slice(2);
const store = await openStore(path, { busyTimeoutMs: 60_000 });
for (const attempt of attempts) {
  if ((await store.runs.begin(attempt, 1_790_000_000_001)) === 'begun') console.log(`${attempt} begun`);
}
for (const attempt of attempts) {
  if ((await store.runs.finish(attempt, makeEnd())) === 'finished') console.log(`${attempt} finished`);
}
await store.close();
