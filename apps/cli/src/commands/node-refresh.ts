import { lstat, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { GloveboxError } from '@glovebox/contract';
import type { CommandContext } from '../commands.ts';
import { stageBeside, targetError } from '../target.ts';
import { toolingFiles } from '../tooling-files.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const target = resolve(args.positionals[0] as string);
  const manifest = await lstat(join(target, 'node.json')).catch(() => undefined);
  if (!manifest?.isFile()) {
    throw new GloveboxError('PACKAGE_FILE_MISSING', {
      message: `${target} has no node.json.`,
      place: { file: join(target, 'node.json') },
    });
  }
  const files = toolingFiles();
  for (const [name, text] of files) await place(target, name, text);
  output.result(
    { directory: target, files: [...files.keys()].sort() },
    () => `Wrote ${files.size} files of .glovebox in ${target}`,
  );
  return 0;
}

/** Below real directories only, so that a link in a package that somebody else made leads nowhere. */
async function place(target: string, name: string, text: string): Promise<void> {
  const parts = dirname(name).split('/');
  for (let i = 1; i <= parts.length; i++) {
    const directory = join(target, ...parts.slice(0, i));
    await mkdir(directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw targetError(error, directory);
    });
    if (!(await lstat(directory)).isDirectory()) {
      throw new GloveboxError('PACKAGE_FILE_REFUSED', {
        message: `${directory} is not a directory.`,
        place: { file: directory },
      });
    }
  }
  const path = join(target, name);
  const staged = stageBeside(path);
  try {
    await writeFile(staged, text, { flag: 'wx' });
    await rename(staged, path);
  } catch (error) {
    await rm(staged, { force: true });
    throw targetError(error, path);
  }
}
