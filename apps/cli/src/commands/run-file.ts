import { lstat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { formatSize, GloveboxError } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openApi } from '../local-api.ts';
import { printable } from '../output.ts';
import { findRun, runOf } from '../project.ts';
import { writeNewFile } from '../target.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const params = runOf(args);
  const out = args.options.out as string | undefined;
  const target = out === undefined ? undefined : resolve(out);
  const { client, close } = await openApi(await loadConfig(args.global.dataDir));
  try {
    const { run, last } = await findRun(client, params);
    const name = args.positionals[1] as string;
    const file = last.end?.files.find((record) => record.name === name);
    if (!file) {
      const names = last.end?.files.map((record) => record.name).join(', ');
      throw new GloveboxError('NOT_FOUND', {
        message: `Run ${run.id} has no file ${name}.`,
        hint: names ? `It has ${names}.` : 'It wrote none.',
      });
    }
    if (target === undefined) {
      const bytes = await client.bytes('runs.file', { params: { ...params, name } });
      await pipeline(process.stdout.isTTY ? shown(bytes) : bytes, process.stdout, { end: false });
      return 0;
    }
    // Before a byte is asked for; whoever makes it meanwhile keeps it too.
    if ((await lstat(target).catch(() => undefined)) !== undefined)
      throw new GloveboxError('ALREADY_EXISTS', {
        message: `${target} is already there; nothing was changed.`,
        place: { file: target },
      });
    await writeNewFile(target, await client.bytes('runs.file', { params: { ...params, name } }), 0o600);
    output.result({ file: target, ...file }, () => `${target}  ${formatSize(file.sizeBytes)}  ${file.digest}`);
    return 0;
  } finally {
    await close();
  }
}

/** A file of a node's may hold anything; on a terminal its control characters are shown, not obeyed. */
async function* shown(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const chunk of bytes) yield printable(decoder.decode(chunk, { stream: true }));
  yield printable(decoder.decode());
}
