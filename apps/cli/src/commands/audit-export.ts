import { lstat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { GloveboxError } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { writeNewFile } from '../target.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const out = args.options.out as string | undefined;
  const target = out === undefined ? undefined : resolve(out);
  if (target !== undefined && (await lstat(target).catch(() => undefined)) !== undefined)
    throw new GloveboxError('ALREADY_EXISTS', { message: `${target} is already there.`, place: { file: target } });
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const lines = await client.bytes('audit.export', {});
    if (target === undefined) await pipeline(lines, process.stdout, { end: false });
    else {
      await writeNewFile(target, lines, 0o600);
      output.result({ file: target }, () => target);
    }
    return 0;
  } finally {
    await close();
  }
}
