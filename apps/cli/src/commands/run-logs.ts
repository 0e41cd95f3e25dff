import { setTimeout as sleep } from 'node:timers/promises';
import type { LogRecord } from '@glovebox/contract';
import { isDead } from '@glovebox/engine/host';
import { usage } from '../args.ts';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { exitInterrupted } from '../interrupts.ts';
import { openRecords } from '../local-engine.ts';
import { findRun } from '../project.ts';
import { logText } from '../run-text.ts';

const page = 1000;
const pollMs = 200;

export async function run({ args, output, windUp }: CommandContext): Promise<number> {
  const tail = readTail(args.options.tail as string | undefined);
  const store = await openRecords(await loadConfig(args.global.dataDir));
  try {
    const { last } = await findRun(store.runs, args);
    const follow = args.options.follow === true;
    const signal = windUp();
    const show = (record: LogRecord & { seq: number }): void => {
      if (output.json === 'no') output.text(logText(record));
      else output.event({ event: 'log', ...record });
    };
    const records: (LogRecord & { seq: number })[] =
      tail === undefined ? [] : lastOf(await store.runs.logs(last.id), tail);
    for (const record of records) show(record);
    let seq = records.at(-1)?.seq ?? (tail === 0 ? ((await store.runs.logs(last.id)).at(-1)?.seq ?? 0) : 0);
    for (;;) {
      await store.runs.markLost(isDead, Date.now());
      // Read the state before the logs: what is written between the two is then read in the next round, never missed.
      const { last: now } = await findRun(store.runs, args);
      for (;;) {
        const more = await store.runs.logs(last.id, seq, page);
        if (more.length === 0) break;
        for (const record of more) show(record);
        if (output.json === 'document') records.push(...more);
        seq = more.at(-1)?.seq ?? seq;
      }
      if (signal.aborted) return output.isClosed ? 0 : exitInterrupted;
      if (!follow || now.end !== null) {
        const about = { run: last.run, attempt: last.id, state: now.state };
        if (output.json !== 'no')
          output.result(output.json === 'document' ? { ...about, logs: records } : about, () => '');
        return 0;
      }
      await sleep(pollMs, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    await store.close();
  }
}

function readTail(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw usage('run logs', `--tail ${text} is not a number of lines`);
  return Number(text);
}

const lastOf = <T>(records: T[], count: number): T[] => (count === 0 ? [] : records.slice(-count));
