import { type AuditAction, auditActions } from '@glovebox/contract';
import { usage } from '../args.ts';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { oneLine, table } from '../output.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const {
    limit: limitText = '50',
    after: afterText,
    action,
    subject,
  } = args.options as Record<string, string | undefined>;
  const limit = /^\d{1,4}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > 1000) throw usage('audit list', `--limit ${limitText} is not a number from 1 to 1000`);
  if (afterText !== undefined && !/^\d{1,15}$/.test(afterText))
    throw usage('audit list', `--after ${afterText} is not the number of an entry`);
  if (action !== undefined && !auditActions.some((known) => known === action))
    throw usage('audit list', `--action ${action} is none of ${auditActions.join(', ')}`);
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const query = {
      limit,
      ...(afterText === undefined ? {} : { after: Number(afterText) }),
      ...(action === undefined ? {} : { action: action as AuditAction }),
      ...(subject === undefined ? {} : { subject }),
    };
    const { entries } = await client.call('audit.list', { query });
    output.result({ entries }, () => {
      if (entries.length === 0) return 'No entries.';
      const rows = entries.map((entry) => [
        String(entry.seq),
        new Date(entry.atMs).toISOString().replace('T', ' ').slice(0, 19),
        entry.action,
        oneLine(entry.subject),
        oneLine(entry.actor),
      ]);
      return table(['no', 'at (UTC)', 'action', 'subject', 'actor'], rows, ['no']);
    });
    if (entries.length === limit)
      output.progress(`There may be more: glovebox audit list --after ${entries.at(-1)?.seq}`);
    return 0;
  } finally {
    await close();
  }
}
