import { lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, hostError } from '@glovebox/cell/host';
import { GloveboxError } from '@glovebox/contract';
import type { RuntimeCall } from './runtime.ts';

/**
 * The directory of one cell under `<run>/cells`, mode 0700, named after cell and owner: the bundle, what the runtime
 * keeps, its log, and the file that says that it has made the container.
 */
export interface CellFolder {
  path: string;
  log: string;
  pidFile: string;
  mountTable: string;
}

export const cellsFolder = (runDirectory: string): string => join(runDirectory, 'cells');

export function cellFolder(runDirectory: string, name: string): CellFolder {
  const path = join(cellsFolder(runDirectory), name);
  return { path, log: join(path, 'runtime.log'), pidFile: join(path, 'pid'), mountTable: join(path, 'fstab') };
}

export function runtimeCall(folder: CellFolder, id: string): RuntimeCall {
  return { bundle: folder.path, stateFolder: join(folder.path, 'state'), log: folder.log, pidFile: folder.pidFile, id };
}

/**
 * Make the directory of a cell; whoever has made it owns all that carries the cell's name.
 *
 * @throws GloveboxError `PLAN_REFUSED` when there is a cell of that id, `DATA_DIR_UNUSABLE`, `DISK_FULL`.
 */
export function makeCellFolder(runDirectory: string, folder: CellFolder): void {
  try {
    mkdirSync(cellsFolder(runDirectory), { recursive: true, mode: 0o700 });
    for (const path of [runDirectory, cellsFolder(runDirectory)]) refuseForeign(path);
    mkdirSync(folder.path, { mode: 0o700 });
  } catch (thrown) {
    if (errnoOf(thrown) === 'EEXIST')
      throw new GloveboxError('PLAN_REFUSED', { message: 'There is a cell of that id already.', cause: thrown });
    throw hostError(thrown, 'DATA_DIR_UNUSABLE', 'Cannot make the directory of a cell');
  }
}

/** Whoever can write here can put a bundle of his own in the place of ours, and root's runtime would run it. */
function refuseForeign(path: string): void {
  const stat = lstatSync(path);
  if (stat.isDirectory() && stat.uid === process.geteuid?.() && (stat.mode & 0o022) === 0) return;
  throw new GloveboxError('DATA_DIR_UNUSABLE', {
    message: `${path} must be a directory of root's in which nobody else can write.`,
  });
}

/** @param files texts of config.json and of the launcher's mount table. */
export function writeCellFolder(folder: CellFolder, files: { config: string; mountTable: string }): void {
  writeFileSync(join(folder.path, 'config.json'), files.config, { mode: 0o600, flag: 'wx' });
  writeFileSync(folder.mountTable, files.mountTable, { mode: 0o600, flag: 'wx' });
}

/**
 * Names of the directories of all cells, whoever made them.
 *
 * @throws GloveboxError `DATA_DIR_UNUSABLE` where that cannot be told.
 */
export function listCellFolders(runDirectory: string): string[] {
  try {
    return readdirSync(cellsFolder(runDirectory));
  } catch (thrown) {
    if (errnoOf(thrown) === 'ENOENT') return [];
    throw hostError(thrown, 'DATA_DIR_UNUSABLE', 'Cannot read the directory of cells');
  }
}

/** Links in it are removed, not followed. */
export const removeCellFolder = (folder: Pick<CellFolder, 'path'>): void =>
  rmSync(folder.path, { recursive: true, force: true });
