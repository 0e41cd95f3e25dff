import { constants } from 'node:fs';
import { lstat, mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { cassetteName, cassettePath, GloveboxError } from '@glovebox/contract';
import { usage } from './args.ts';
import { stageBeside, targetError, writeNewFile } from './target.ts';

/** Where a recording is to lie, and whether what is there may be replaced. */
export interface CassetteTarget {
  name: string;
  file: string;
  existing: 'refuse' | 'replace';
}

/**
 * Judge where a recording would go before anything is run: a run may have effects, and its answers are not to be lost for a
 * name that is taken.
 *
 * @throws GloveboxError `USAGE`, `ALREADY_EXISTS`, `TARGET_UNUSABLE`.
 */
export async function cassetteTarget(
  packageDir: string,
  name: string,
  existing: CassetteTarget['existing'],
): Promise<CassetteTarget> {
  if (!cassetteName.test(name)) throw usage('node run', `--record ${name} is not the name of a cassette`);
  const file = join(packageDir, cassettePath(name));
  await refuseOtherFolder(file);
  const found = await lstat(file).catch(() => undefined);
  if (found !== undefined && existing === 'refuse') throw alreadyThere(file);
  if (found !== undefined && !found.isFile())
    throw new GloveboxError('TARGET_UNUSABLE', { message: `${file} is no plain file.`, place: { file } });
  return { name, file, existing };
}

/** A link in the place of the folder would lead what an origin answers to anywhere. */
async function refuseOtherFolder(file: string): Promise<void> {
  const folder = dirname(file);
  const found = await lstat(folder).catch(() => undefined);
  if (found !== undefined && !found.isDirectory())
    throw new GloveboxError('TARGET_UNUSABLE', {
      message: `${folder} is no plain directory.`,
      place: { file: folder },
    });
}

const alreadyThere = (file: string): GloveboxError =>
  new GloveboxError('ALREADY_EXISTS', {
    message: `${file} is already there; nothing was run.`,
    hint: 'Record under another name, or pass --force to replace it.',
    place: { file },
  });

/** Write a recording, whole or not at all. @throws GloveboxError `ALREADY_EXISTS`, `TARGET_UNUSABLE`. */
export async function writeCassette({ file, existing }: CassetteTarget, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await refuseOtherFolder(file);
    if (existing === 'refuse') await writeNewFile(file, [Buffer.from(text)], 0o644);
    else await replaceFile(file, text);
  } catch (error) {
    throw targetError(error, file);
  }
}

/** A rename takes the place of a link, and follows none. */
async function replaceFile(file: string, text: string): Promise<void> {
  const staged = stageBeside(file);
  try {
    const handle = await open(staged, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o644);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(staged, file);
  } finally {
    await rm(staged, { force: true });
  }
}
