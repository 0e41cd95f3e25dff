import { createWriteStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createBlobStore } from '@glovebox/blobs-fs';
import { formatSize, GloveboxError } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { loadConfig } from '../config.ts';
import { openStore } from '../local-engine.ts';
import { findRun } from '../project.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const config = await loadConfig(args.global.dataDir);
  const store = await openStore(config, { inThread: true });
  try {
    const { run, last } = await findRun(store, args);
    const name = args.positionals[1] as string;
    const file = last.end?.files.find((record) => record.name === name);
    if (!file) {
      const names = last.end?.files.map((record) => record.name).join(', ');
      throw new GloveboxError('NOT_FOUND', {
        message: `Run ${run.id} has no file ${name}.`,
        hint: names ? `It has ${names}.` : 'It wrote none.',
      });
    }
    const bytes = createBlobStore(join(config.dataDir, 'blobs')).read(file.digest);
    const out = args.options.out as string | undefined;
    if (out === undefined) {
      await pipeline(bytes, process.stdout, { end: false });
      return 0;
    }
    const target = resolve(out);
    if (
      await stat(target).then(
        () => true,
        () => false,
      )
    )
      throw new GloveboxError('ALREADY_EXISTS', { message: `${target} is already there.`, place: { file: target } });
    const temp = `${target}.${process.pid}.part`;
    try {
      await pipeline(bytes, createWriteStream(temp, { flags: 'wx', mode: 0o600 }));
      await rename(temp, target);
    } catch (error) {
      await rm(temp, { force: true });
      throw error;
    }
    output.result({ file: target, ...file }, () => `${target}  ${formatSize(file.sizeBytes)}  ${file.digest}`);
    return 0;
  } finally {
    await store.close();
  }
}
