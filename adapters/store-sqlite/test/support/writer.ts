/**
 * Writes runs until it is killed: `writer.ts <database> <worker|caller>`. Each transition that the store has acknowledged is
 * told on standard output, one line each, as `<attempt> <state>`, or `<attempt> log <seq of the last record>`.
 */
import { writeSync } from 'node:fs';
import { openStore } from '@glovebox/store-sqlite';
import { makeEnd, makeLog, makeRun } from './records.ts';

const [path = '', thread] = process.argv.slice(2);
const store = await openStore(path, { inThread: thread === 'caller' });
const tell = (text: string): void => {
  writeSync(1, `${text}\n`);
};

async function writeOne(i: number): Promise<void> {
  const { run, attempt } = makeRun({ inputText: JSON.stringify('x'.repeat((i % 7) * 20_000)) });
  await store.runs.create(run, attempt);
  tell(`${attempt.id} QUEUED`);
  if (i % 5 === 4) return;
  await store.runs.begin(attempt.id, run.createdAtMs + 1);
  tell(`${attempt.id} RUNNING`);
  await store.runs.appendLogs(attempt.id, [makeLog('one'), makeLog('two', { i })]);
  tell(`${attempt.id} log 2`);
  if (i % 5 === 3) return;
  const end = makeEnd({
    state: i % 2 === 0 ? 'SUCCEEDED' : 'TIMED_OUT',
    outputText: JSON.stringify('y'.repeat((i % 3) * 50_000)),
  });
  await store.runs.finish(attempt.id, end);
  tell(`${attempt.id} ${end.state}`);
}

tell('open');
for (let i = 0; ; i++) await writeOne(i);
