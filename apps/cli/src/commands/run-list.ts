import { attemptStates, formatDuration, idPatterns } from '@glovebox/contract';
import { usage } from '../args.ts';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { oneLine, table } from '../output.ts';
import { projectOf } from '../project.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const { limit: limitText, before, node, state } = args.options as Record<string, string | undefined>;
  const limit = limitText === undefined ? 20 : /^\d{1,4}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > 1000) throw usage('run list', `--limit ${limitText} is not a number from 1 to 1000`);
  if (before !== undefined && !idPatterns.run.test(before))
    throw usage('run list', `--before ${before} is not a run id`);
  const known = state === undefined ? undefined : attemptStates.find((name) => name === state.toUpperCase());
  if (node !== undefined && !idPatterns.node.test(node)) throw usage('run list', `--node ${node} is not a node id`);
  if (state !== undefined && known === undefined)
    throw usage('run list', `--state ${state} is none of ${attemptStates.join(', ')}`);
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const { runs } = await client.call('runs.list', {
      params: { project: projectOf(args) },
      query: { limit, before, node, state: known },
    });
    output.result({ runs }, () => {
      if (runs.length === 0) return 'No runs.';
      const rows = runs.map((run) => [
        run.id,
        `${run.node.id}@${run.node.version}`,
        run.state,
        run.errorCode === null || run.errorCode === run.state ? '' : oneLine(run.errorCode),
        new Date(run.createdAtMs).toISOString().replace('T', ' ').slice(0, 19),
        run.durationMs === null ? '' : formatDuration(run.durationMs),
      ]);
      return table(['run', 'node', 'state', 'error', 'created (UTC)', 'duration'], rows, ['duration']);
    });
    return 0;
  } finally {
    await close();
  }
}
