import { setTimeout as sleep } from 'node:timers/promises';
import { isDead } from '@glovebox/engine/host';
import { usage } from '../args.ts';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openStore } from '../local-engine.ts';
import { jsonText } from '../output.ts';
import { findRun } from '../project.ts';
import { logText } from '../run-text.ts';

const page = 1000;
const pollMs = 200;

export async function run({ args, output, signal }: CommandContext): Promise<number> {
  const tail = args.options.tail === undefined ? undefined : Number(args.options.tail);
  if (tail !== undefined && (!Number.isInteger(tail) || tail < 0))
    throw usage('run logs', `--tail ${args.options.tail} is not a number`);
  const store = await openStore(await loadConfig(args.global.dataDir), { inThread: true });
  try {
    const { last } = await findRun(store, args);
    const follow = args.options.follow === true;
    if (output.json === 'document' && !follow) {
      const all = await store.logs(last.id);
      output.result(
        {
          run: last.run,
          attempt: last.id,
          logs: tail === undefined ? all : all.slice(all.length - Math.min(tail, all.length)),
        },
        () => '',
      );
      return 0;
    }
    let seq = 0;
    if (tail !== undefined) {
      const all = await store.logs(last.id);
      seq = tail >= all.length ? 0 : ((all[all.length - tail - 1]?.seq as number | undefined) ?? 0);
    }
    for (;;) {
      await store.markLost(isDead, Date.now());
      // Read the state before the logs: what is written between the two is then read in the next round, never missed.
      const { last: now } = await findRun(store, args);
      for (
        let records = await store.logs(last.id, seq, page);
        records.length > 0;
        records = await store.logs(last.id, seq, page)
      ) {
        for (const record of records)
          process.stdout.write(`${output.json === 'no' ? logText(record) : jsonText(record)}\n`);
        seq = records.at(-1)?.seq ?? seq;
      }
      if (!follow || now.end !== null || signal.aborted) return 0;
      await sleep(pollMs, undefined, { signal }).catch(() => undefined);
    }
  } finally {
    await store.close();
  }
}
