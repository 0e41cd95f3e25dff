import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Cell, CellDriver, CellEnd } from '@glovebox/cell';
import { createOciDriver, type OciDriverOptions } from '@glovebox/cell-oci';
import { type Digest, type Finding, newInstanceId } from '@glovebox/contract';
import { type CheckOutcome, checkTests, checkTypes } from '@glovebox/engine';
import { createImageStore } from '@glovebox/image-rootfs';
import { afterAll, beforeAll, expect } from 'vitest';
import { noteInstance } from './instances.ts';
import { differences, type Residue, readResidue } from './residue.ts';
import { openEngineDriver } from './test-driver.ts';

/** Images are made once for all tests. */
const sharedImages = fileURLToPath(new URL('../../.cache/test-images', import.meta.url));

type Files = { [path: string]: string | Uint8Array };
type Request = Parameters<typeof checkTypes>[0];
type Options = { deadlineMs?: number; signal?: AbortSignal };

export interface Archive {
  bytes: Uint8Array;
  /** 1.0.0 where it is left out. */
  version?: string;
  /** It is in devDependencies alone. */
  development?: true;
}

export interface Checks {
  /** A node package of these files, and of what every package has; archives by their place. */
  types(files: Files, archives?: { [path: string]: Archive }, options?: Options): Promise<CheckOutcome>;
  tests(files: Files, archives?: { [path: string]: Archive }, options?: Options): Promise<CheckOutcome>;
  image: Digest;
  driver: CellDriver;
  /** Another driver over the same directories. */
  open(options: Partial<OciDriverOptions>): CellDriver;
  /** How each cell of this file ended, in order. */
  ends: CellEnd[];
}

/** The checks that boot builder cells, for the tests of a file. After them nothing of the cells is left on the host. */
export function useChecks(): () => Checks {
  const home = mkdtempSync(join(tmpdir(), 'glovebox-checks-'));
  const runDirectory = join(home, 'run');
  const instance = newInstanceId();
  noteInstance(instance);
  const residue = (): Residue => {
    const all = readResidue({ instance, runDirectory });
    // Others may mount what they like meanwhile.
    return { ...all, mounts: all.mounts.filter((path) => path.startsWith(home)) };
  };
  let before: Residue;
  let checks: Checks | undefined;
  beforeAll(async () => {
    const images = createImageStore({ dataDir: sharedImages });
    await images.build({});
    const image = (await images.current('builder')).digest as Digest;
    const rootfsOf = (digest: string): string => join(sharedImages, 'images', digest.slice('sha256:'.length), 'rootfs');
    const open = (options: Partial<OciDriverOptions> = {}): CellDriver =>
      openEngineDriver({ instance, runDirectory, imagesDir: sharedImages }, options) ??
      createOciDriver({ instance, runDirectory, rootfsOf, ...options });
    const ends: CellEnd[] = [];
    const driver = watched(open(), ends);
    checks = {
      image,
      driver,
      open,
      ends,
      types: (files, archives, options) =>
        checkTypes(request(files, archives), { driver, cellClass: 'ns', image, ...options }),
      tests: (files, archives, options) =>
        checkTests(request(files, archives), { driver, cellClass: 'ns', image, ...options }),
    };
    before = residue();
  });
  afterAll(() => {
    try {
      expect(differences(before, residue())).toEqual([]);
    } finally {
      rmSync(home, { recursive: true });
    }
  });
  return () => {
    if (checks === undefined) throw new Error('the checks are there in tests only');
    return checks;
  };
}

function watched(driver: CellDriver, ends: CellEnd[]): CellDriver {
  return {
    ...driver,
    boot: async (plan, id): Promise<Cell> => {
      const cell = await driver.boot(plan, id);
      void cell.ended.then((end) => ends.push(end));
      return cell;
    },
  };
}

function request(files: Files, archives: { [path: string]: Archive } = {}): Request {
  const all: Files = {
    'package.json': '{"name":"made-up","version":"1.0.0","type":"module"}',
    'src/index.ts': 'export default () => 1;\n',
    ...files,
  };
  const locked = (path: string) => ({
    path,
    name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
    version: archives[path]?.version ?? '1.0.0',
    integrity: 'sha512-x',
  });
  const paths = Object.keys(archives);
  return {
    pkg: {
      files: new Map(Object.entries(all).map(([path, content]) => [path, Buffer.from(content as string)])),
      dependencies: paths.filter((path) => archives[path]?.development !== true).map(locked),
    },
    tarballs: paths.map((path) => ({ ...locked(path), bytes: (archives[path] as Archive).bytes })),
  };
}

/** Of each finding its rule, file and line, and the beginning of its message. */
export const seen = ({ findings }: { findings: Finding[] }) =>
  findings.map(({ rule, place, message }) => [rule, place.file, place.line, message]);
