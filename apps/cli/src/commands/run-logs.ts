import { usage } from '../args.ts';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { exitInterrupted } from '../interrupts.ts';
import { openApi } from '../local-api.ts';
import { runOf } from '../project.ts';
import { logText } from '../run-text.ts';

export async function run({ args, output, windUp }: CommandContext): Promise<number> {
  const tail = readTail(args.options.tail as string | undefined);
  const params = runOf(args);
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const signal = windUp();
    const query = { tail, follow: args.options.follow === true };
    const logs = [];
    for await (const event of client.stream('runs.logs', { params, query, windUp: signal })) {
      if (event.event === 'log') {
        if (output.json === 'no') output.text(logText(event.record));
        else if (output.json === 'lines') output.event({ event: 'log', ...event.record });
        else logs.push(event.record);
      }
      if (event.event === 'result' && output.json !== 'no' && !signal.aborted) {
        const { run, attempt, state } = event.result;
        const about = { run, attempt, state };
        output.result(output.json === 'document' ? { ...about, logs } : about, () => '');
      }
    }
    if (signal.aborted) return output.isClosed ? 0 : exitInterrupted;
    return 0;
  } finally {
    await close();
  }
}

function readTail(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw usage('run logs', `--tail ${text} is not a number of lines`);
  return Number(text);
}
