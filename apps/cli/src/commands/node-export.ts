import { lstat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { projectOf } from '../project.ts';
import { releaseOf } from '../release-argument.ts';
import { writeNewFile } from '../target.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const params = releaseOf(args.positionals[0] as string, projectOf(args));
  const target = resolve(args.positionals[1] as string);
  if ((await lstat(target).catch(() => undefined)) !== undefined)
    throw new GloveboxError('ALREADY_EXISTS', { message: `${target} is already there.`, place: { file: target } });
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const { release } = await client.call('releases.get', { params });
    const { digest } = release;
    await writeNewFile(target, await client.bytes('artifacts.export', { params }), 0o644);
    output.result({ file: target, ref: release.ref, digest }, () => `${target}  ${release.ref}  ${digest}`);
    return 0;
  } finally {
    await close();
  }
}
