import { constants } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { stagedName } from '@glovebox/engine/staging';

export interface StagedFile {
  path: string;
  handle: FileHandle;
}

/** A new file that nobody else can have opened, named after this process. The caller closes it and renames or removes it. */
export async function stage(dir: string): Promise<StagedFile> {
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const path = join(dir, stagedName());
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  return { path, handle: await open(path, flags, 0o600) };
}
