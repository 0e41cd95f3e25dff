import { mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { GloveboxError, idPatterns } from '@glovebox/contract';
import { usage } from '../args.ts';
import type { CommandContext } from '../commands.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const target = resolve(args.positionals[0] as string);
  const id = (args.options.id as string | undefined) ?? basename(target);
  if (!idPatterns.node.test(id)) {
    throw usage('node new', `${id} is not a node id: 3 to 64 of a-z, 0-9 and hyphen, beginning with a letter`);
  }
  const title = (args.options.title as string | undefined) ?? titleOf(id);
  if (title.length > 120 || title === '') throw usage('node new', '--title has 1 to 120 characters');
  const there = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new GloveboxError('ALREADY_EXISTS', {
      message: `${target} is there and is not a directory.`,
      place: { file: target },
    });
  });
  if (there !== undefined && there.length > 0) {
    throw new GloveboxError('ALREADY_EXISTS', {
      message: `${target} is not empty; nothing was changed.`,
      place: { file: target },
    });
  }
  const [{ nodeTemplate }, { toolingFiles }] = await Promise.all([
    import('@glovebox/sdk/template'),
    import('../tooling-files.ts'),
  ]);
  const files = new Map([...nodeTemplate({ id, title }), ...toolingFiles()]);
  await writePackage(target, files);
  const names = [...files.keys()].filter((name) => !/^(\.glovebox|node_modules)\//.test(name)).sort();
  output.result({ directory: target, id, files: [...files.keys()].sort() }, () =>
    [
      `Made ${target}`,
      ...names.map((name) => `  ${name}`),
      '',
      `Next: glovebox node run ${args.positionals[0]} --trial --fixture basic`,
    ].join('\n'),
  );
  return 0;
}

/** Into a directory beside the target, then renamed: a crash leaves no half a package. */
async function writePackage(target: string, files: ReadonlyMap<string, string | Uint8Array>): Promise<void> {
  await mkdir(dirname(target), { recursive: true });
  const temp = join(dirname(target), `.${basename(target)}.${process.pid}.new`);
  await mkdir(temp, { mode: 0o755 });
  try {
    for (const [name, content] of files) {
      const path = join(temp, name);
      await mkdir(dirname(path), { recursive: true });
      const file = await open(path, 'wx', 0o644);
      try {
        await file.writeFile(content);
      } finally {
        await file.close();
      }
    }
    // rename() takes the place of an empty directory, and of nothing else.
    await rename(temp, target);
  } catch (error) {
    await rm(temp, { recursive: true, force: true });
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ENOTEMPTY' || code === 'EEXIST') {
      throw new GloveboxError('ALREADY_EXISTS', {
        message: `${target} was filled meanwhile; nothing was changed.`,
        place: { file: target },
        cause: error,
      });
    }
    throw error;
  }
}

function titleOf(id: string): string {
  const text = id.replaceAll('-', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
