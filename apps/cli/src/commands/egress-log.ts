import { egressRecordSchema, formatDuration, formatSize, idPatterns } from '@glovebox/contract';
import type { EgressRecordView } from '@glovebox/contract/routes';
import { usage } from '../args.ts';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { oneLine, table } from '../output.ts';
import { projectOf } from '../project.ts';

const outcomes = egressRecordSchema.shape.outcome.options;

export async function run({ args, output }: CommandContext): Promise<number> {
  const { limit: limitText = '50', before, run, host, outcome } = args.options as Record<string, string | undefined>;
  const limit = /^\d{1,4}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > 1000) throw usage('egress log', `--limit ${limitText} is not a number from 1 to 1000`);
  if (before !== undefined && !/^\d{1,15}$/.test(before))
    throw usage('egress log', `--before ${before} is not the number of a record`);
  if (run !== undefined && !idPatterns.run.test(run)) throw usage('egress log', `--run ${run} is not a run id`);
  const known = outcome === undefined ? undefined : outcomes.find((name) => name === outcome.toLowerCase());
  if (outcome !== undefined && known === undefined)
    throw usage('egress log', `--outcome ${outcome} is none of ${outcomes.join(', ')}`);
  const project = projectOf(args);
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const query = { limit, before, run, host: host?.toLowerCase(), outcome: known };
    const { records } = await client.call('egress.list', { params: { project }, query });
    output.result({ records }, () => (records.length === 0 ? 'No requests.' : recordsText(records)));
    if (records.length === limit)
      output.progress(`There may be more: glovebox egress log --before ${records.at(-1)?.cursor}`);
    return 0;
  } finally {
    await close();
  }
}

function recordsText(records: readonly EgressRecordView[]): string {
  const rows = records.map((record) => [
    record.at.replace('T', ' ').slice(0, 19),
    record.run ?? record.purpose,
    oneLine(record.method),
    oneLine(urlOf(record)),
    record.outcome,
    oneLine(record.reason ?? record.rule ?? ''),
    record.status === null ? '' : String(record.status),
    formatSize(record.bytesDown),
    record.durationMs === null ? '' : formatDuration(record.durationMs),
  ]);
  const head = ['at (UTC)', 'run', 'method', 'url', 'outcome', 'why', 'status', 'got', 'took'];
  return table(head, rows, ['status', 'got', 'took']);
}

function urlOf({ scheme, host, port, path }: EgressRecordView): string {
  const usual = port === (scheme === 'https' ? 443 : 80);
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}${usual ? '' : `:${port}`}${path}`;
}
