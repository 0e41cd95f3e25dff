import { lstat, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { GloveboxError, idPatterns } from '@glovebox/contract';
import { removeAbandoned, stagedName } from '@glovebox/engine/staging';
import { usage } from '../args.ts';
import type { CommandContext } from '../commands.ts';
import { stageBeside, targetError } from '../target.ts';

export async function run({ args, output }: CommandContext): Promise<number> {
  const target = resolve(args.positionals[0] as string);
  const id = (args.options.id as string | undefined) ?? basename(target);
  if (!idPatterns.node.test(id)) {
    throw usage('node new', `${id} is not a node id: 3 to 64 of a-z, 0-9 and hyphen, beginning with a letter`);
  }
  const title = (args.options.title as string | undefined) ?? titleOf(id);
  // Titles are shown in lists, on terminals.
  if (title.length > 120 || !/^[^\p{Cc}\p{Zl}\p{Zp}]+$/u.test(title))
    throw usage('node new', '--title has 1 to 120 characters, in one line and none of them for control');
  const [{ nodeTemplate }, { toolingFiles }] = await Promise.all([
    import('@glovebox/sdk/template'),
    import('../tooling-files.ts'),
  ]);
  const files = new Map([...nodeTemplate({ id, title }), ...toolingFiles()]);
  if (await isThere(target)) await fillDirectory(target, files);
  else await makeDirectory(target, files);
  const names = [...files.keys()].filter((name) => !/^(\.glovebox|node_modules)\//.test(name)).sort();
  output.result({ directory: target, id, files: [...files.keys()].sort() }, () =>
    [
      `Made ${target}`,
      ...names.map((name) => `  ${name}`),
      '',
      `Next: glovebox node validate ${args.positionals[0]}, or glovebox node dev ${args.positionals[0]} while you write`,
    ].join('\n'),
  );
  return 0;
}

type Files = ReadonlyMap<string, string | Uint8Array>;

/** The file by which a directory is a node package: it comes last. */
const lastName = 'node.json';

async function isThere(target: string): Promise<boolean> {
  const entry = await lstat(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw targetError(error, target);
  });
  if (entry === undefined) return false;
  const found = await stat(target).catch(() => undefined);
  if (found?.isDirectory()) return true;
  throw new GloveboxError('ALREADY_EXISTS', { message: `${target} is not a directory.`, place: { file: target } });
}

/** Into a directory beside the target, then renamed: a crash leaves no half a package, and the next try what it left. */
async function makeDirectory(target: string, files: Files): Promise<void> {
  try {
    await mkdir(dirname(target), { recursive: true });
  } catch (error) {
    throw targetError(error, target);
  }
  const staged = stageBeside(target);
  try {
    await writeFiles(staged, files);
    // rename() takes the place of an empty directory, and of nothing else.
    await rename(staged, target);
  } catch (error) {
    await rm(staged, { recursive: true, force: true });
    throw targetError(error, target);
  }
}

/**
 * Into a directory that is there and empty, which may be a mount or where somebody's shell stands, so it is not replaced.
 * Written in full inside of it, then moved up entry by entry: what a crash leaves is no node package yet, and the next try
 * completes it.
 */
async function fillDirectory(target: string, files: Files): Promise<void> {
  const names = [...new Set([...files.keys()].map((name) => name.split('/')[0] as string))];
  const staged = join(target, `${stagePrefix}${stagedName()}`);
  const moved: string[] = [];
  try {
    const before = await readdir(target);
    removeAbandoned(target, stagePrefix);
    const there = await readdir(target);
    const isLeftByCrash = there.length < before.length && !there.includes(lastName);
    if (there.length > 0 && !(isLeftByCrash && there.every((name) => names.includes(name))))
      throw new GloveboxError('ALREADY_EXISTS', {
        message: `${target} is not empty; nothing was changed.`,
        place: { file: target },
      });
    await writeFiles(staged, files);
    const missing = names.filter((name) => !there.includes(name) && name !== lastName);
    for (const name of [...missing, lastName]) {
      await rename(join(staged, name), join(target, name));
      moved.push(name);
    }
  } catch (error) {
    for (const name of moved) await rm(join(target, name), { recursive: true, force: true });
    throw targetError(error, target);
  } finally {
    await rm(staged, { recursive: true, force: true });
  }
}

const stagePrefix = '.node-new.';

async function writeFiles(directory: string, files: Files): Promise<void> {
  await mkdir(directory, { mode: 0o755 });
  for (const [name, content] of files) {
    const path = join(directory, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content, { flag: 'wx', mode: 0o644 });
  }
}

function titleOf(id: string): string {
  const text = id.replaceAll('-', ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}
