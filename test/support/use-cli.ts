import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createImageStore } from '@glovebox/image-rootfs';
import { afterAll, beforeAll, expect } from 'vitest';
import { type CliOptions, type CliRun, glovebox, type RunningCli, startGlovebox } from './cli.ts';
import { noteInstance } from './instances.ts';
import { type NodeSource, writeNode } from './node-package.ts';
import { readResidue } from './residue.ts';
import { leftovers } from './use-engine.ts';

const sharedImages = fileURLToPath(new URL('../../.cache/test-images', import.meta.url));

/** A directory for one data directory of the CLI and for packages. */
export interface CliHome {
  dir: string;
  dataDir: string;
  /** Run the CLI on the data directory, in `dir`. */
  run(args: readonly string[], options?: Partial<CliOptions>): Promise<CliRun>;
  /** The same, and not waited for. */
  start(args: readonly string[], options?: Partial<CliOptions>): RunningCli;
  /** Write a node package of this source into `dir`. @returns its path. */
  node(name: string, source: NodeSource): Promise<string>;
  /** Everything that cells of this data directory have left on the host; empty where it has none. */
  residue(): string[];
  /** What is in the data directory and must not outlive a command. */
  leftovers(): string[];
  remove(): void;
}

/**
 * As hard links, or where the temporary directory is another file system, as copies. What another process is just making
 * there is left out: it would stay half-made in the copy.
 */
export function copyImages(from: string, to: string): void {
  const { mode, atime, mtime } = statSync(from);
  const parts = readdirSync(from)
    .filter((name) => name !== 'staging')
    .map((name) => join(from, name));
  mkdirSync(to);
  if (spawnSync('cp', ['-al', ...parts, to]).status !== 0) {
    rmSync(to, { recursive: true, force: true });
    mkdirSync(to);
    execFileSync('cp', ['-a', ...parts, to]);
  }
  chmodSync(to, mode);
  utimesSync(to, atime, mtime);
}

/** @param images `linked`: the images that all tests share are in it. */
export async function makeCliHome(images: 'linked' | 'none' = 'linked'): Promise<CliHome> {
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-cli-'));
  const dataDir = join(dir, 'data');
  if (images === 'linked') {
    await createImageStore({ dataDir: sharedImages }).build({});
    mkdirSync(dataDir, { mode: 0o700 });
    copyImages(join(sharedImages, 'images'), join(dataDir, 'images'));
  }
  return {
    dir,
    dataDir,
    run: (args, options = {}) => glovebox(args, { dataDir, cwd: dir, ...options }),
    start: (args, options = {}) => startGlovebox(args, { dataDir, cwd: dir, ...options }),
    node: (name, source) => writeNode(join(dir, name), source),
    residue: () => residueOf(dataDir),
    leftovers: () => leftoversOf(dataDir),
    remove: () => {
      noteInstancesBelow(dir);
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** One home for the tests of a file. After them its cells have left nothing, and its commands nothing half-written: a test too. */
export function useCli(images: 'linked' | 'none' = 'linked'): () => CliHome {
  let home: CliHome | undefined;
  beforeAll(async () => {
    home = await makeCliHome(images);
  });
  afterAll(() => {
    if (home === undefined) return;
    try {
      expect(home.residue()).toEqual([]);
      expect(home.leftovers()).toEqual([]);
    } finally {
      home.remove();
    }
  });
  return () => {
    if (home === undefined) throw new Error('the home is there in tests only');
    return home;
  };
}

/** Instances come with the first command on a data directory. */
function noteInstancesBelow(dir: string): void {
  for (const name of readdirSync(dir)) {
    const instance = instanceOf(join(dir, name));
    if (instance !== undefined) noteInstance(instance);
  }
}

/** Traces of the cells of one data directory, a line each. */
function residueOf(dataDir: string): string[] {
  const instance = instanceOf(dataDir);
  if (instance === undefined) return [];
  const { mounts, ...traces } = readResidue({ instance, runDirectory: join(dataDir, 'run') });
  const inside = mounts.filter((path) => path.startsWith(dataDir));
  return [...Object.entries(traces), ['mounts', inside] as const].flatMap(([kind, things]) =>
    (things as string[]).map((thing) => `${kind}: ${thing}`),
  );
}

function instanceOf(dataDir: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(join(dataDir, 'instance.json'), 'utf8')) as { id: string }).id;
  } catch {
    return undefined;
  }
}

function leftoversOf(dataDir: string): string[] {
  const kept = /^(glovebox\.yaml|images(\/.*)?|cache\/packages\/(?!tmp\/).*)$/;
  try {
    return [
      ...leftovers(dataDir).filter((path) => !kept.test(path)),
      ...readdirSync(join(dataDir, 'images', 'staging')).map((name) => `images/staging/${name}`),
    ];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      return leftovers(dataDir).filter((path) => !kept.test(path));
    throw error;
  }
}

/**
 * Everything below a directory, for a before and an after: path, kind, mode, and for files size and content's beginning.
 * Left out: what a database and its caches may change by being read.
 */
export function listTree(dir: string): string[] {
  const volatile = /^(glovebox\.db(-wal|-shm)?|cache(\/.*)?|images\/.*|run(\/cells)?)$/;
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((path) => !volatile.test(path))
    .map((path) => {
      const stat = lstatSync(join(dir, path));
      const mode = (stat.mode & 0o7777).toString(8);
      if (stat.isSymbolicLink()) return `${path} -> ${readlinkSync(join(dir, path))}`;
      return stat.isFile() ? `${path} ${mode} ${stat.size}` : `${path}/ ${mode}`;
    })
    .sort();
}
