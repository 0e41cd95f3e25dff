import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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

/** @param files texts of config.json and of the launcher's mount table. */
export function writeCellFolder(
  runDirectory: string,
  folder: CellFolder,
  files: { config: string; mountTable: string },
): void {
  try {
    mkdirSync(folder.path, { mode: 0o700 });
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown;
    mkdirSync(cellsFolder(runDirectory), { recursive: true, mode: 0o700 });
    mkdirSync(folder.path, { mode: 0o700 });
  }
  writeFileSync(join(folder.path, 'config.json'), files.config, { mode: 0o600, flag: 'wx' });
  writeFileSync(folder.mountTable, files.mountTable, { mode: 0o600, flag: 'wx' });
}

/** Links in it are removed, not followed. */
export const removeCellFolder = (folder: Pick<CellFolder, 'path'>): void =>
  rmSync(folder.path, { recursive: true, force: true });
