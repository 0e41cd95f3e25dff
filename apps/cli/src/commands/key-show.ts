import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const { keys } = await client.call('keys.list', {});
    const [current = '', ...retired] = keys;
    output.result({ current, retired }, () =>
      [current.trimEnd(), ...retired.map((pem) => `retired\n${pem.trimEnd()}`)].join('\n'),
    );
    return 0;
  } finally {
    await close();
  }
}
