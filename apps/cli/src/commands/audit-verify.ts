import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { paint } from '../output.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const verified = await client.call('audit.verify', { body: {} });
    output.result({ verified: true, ...verified }, () => {
      const { entries, checkpoints, head } = verified;
      const counts = [counted(entries, 'entry', 'entries'), counted(checkpoints, 'checkpoint', 'checkpoints')];
      return `${paint('green', 'verified')}  ${counts.join(', ')}${head === null ? '' : `\n  head  ${head.hash}`}`;
    });
    return 0;
  } finally {
    await close();
  }
}

const counted = (count: number, one: string, many: string): string => `${count} ${count === 1 ? one : many}`;
