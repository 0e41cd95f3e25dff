import { chmodSync, chownSync, lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { errnoOf, hostError } from '@glovebox/cell/host';
import { GloveboxError } from '@glovebox/contract';
import { reachable } from './launch-mounts.ts';
import type { RuntimeCall } from './runtime.ts';

/**
 * The directory of one cell under `<run>/cells`, mode 0700, named after cell and owner: the bundle, what the runtime
 * keeps, its log, and the file that says that it has made the container.
 */
export interface CellFolder {
  path: string;
  /** What the runtime reads and writes: all of it, or a directory in it that belongs to the runtime's own user. */
  bundle: string;
  log: string;
  pidFile: string;
  mountTable: string;
  /** What is shown at the mount point to a runtime that is no root of the host. */
  stage: string;
}

export const cellsFolder = (runDirectory: string): string => join(runDirectory, 'cells');

/** @param owner `runtime`: what the runtime reads and writes lies in a directory apart, which `giveBundle` gives away. */
export function cellFolder(runDirectory: string, name: string, owner: 'us' | 'runtime' = 'us'): CellFolder {
  const path = join(cellsFolder(runDirectory), name);
  const bundle = owner === 'us' ? path : join(path, 'bundle');
  return {
    path,
    bundle,
    log: join(bundle, logName),
    pidFile: join(bundle, pidName),
    mountTable: join(path, 'fstab'),
    stage: join(path, 'stage'),
  };
}

const logName = 'runtime.log';
const pidName = 'pid';

/** @param bundle the bundle's path as the runtime sees it. */
export function runtimeCall(bundle: string, id: string): RuntimeCall {
  return { bundle, stateFolder: join(bundle, 'state'), log: join(bundle, logName), pidFile: join(bundle, pidName), id };
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
  if (folder.bundle !== folder.path) mkdirSync(folder.bundle, { mode: 0o700 });
  writeFileSync(join(folder.bundle, 'config.json'), files.config, { mode: 0o600, flag: 'wx' });
  writeFileSync(folder.mountTable, files.mountTable, { mode: 0o600, flag: 'wx' });
}

/** Make the places that image and bundle are mounted on; anyone may pass through them, whatever our umask says. */
export function makeStage({ stage }: CellFolder): void {
  for (const path of [stage, ...Object.values(reachable(stage))]) {
    mkdirSync(path);
    chmodSync(path, 0o755);
  }
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

/** Let a runtime that is no root of the host have its bundle. Nobody of that id lives yet. */
export function giveBundle(folder: CellFolder, id: number): void {
  for (const path of [join(folder.bundle, 'config.json'), folder.bundle]) chownSync(path, id, id);
}

/** Links in it are removed, not followed. */
export const removeCellFolder = (folder: Pick<CellFolder, 'path'>): void =>
  rmSync(folder.path, { recursive: true, force: true });
