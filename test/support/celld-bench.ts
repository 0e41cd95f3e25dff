import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CellDriver } from '@glovebox/cell';
import { createCelldDriver } from '@glovebox/cell-celld';
import { openCellBench, testImage } from './cell-bench.ts';
import { type CelldOptions, makeHome, startCelld, type TestCelld } from './celld.ts';
import { type Residue, readResidue } from './residue.ts';

/** Real celld processes over one image of a bench of cells, and what their cells leave on the host. */
export interface CelldBench {
  cells: ReturnType<typeof openCellBench>;
  /** `images/` with the bench's root directory as its image. */
  imagesDirectory: string;
  /** Where `start` has them, one after the other. */
  home: string;
  start(args?: readonly string[], options?: Partial<CelldOptions>): Promise<TestCelld>;
  /** @param celldUid whose celld it is, where not ours or root's. */
  driver(celld: TestCelld, celldUid?: number): CellDriver;
  residue(): Residue;
  /** End what a test left running, and the bench. */
  remove(): Promise<void>;
}

export function openCelldBench(): CelldBench {
  const cells = openCellBench();
  const imagesDirectory = join(cells.home, 'images');
  const image = join(imagesDirectory, testImage.slice('sha256:'.length));
  mkdirSync(image, { recursive: true });
  execFileSync('cp', ['-al', cells.rootfs, join(image, 'rootfs')]);
  const home = makeHome();
  const started: TestCelld[] = [];
  return {
    cells,
    imagesDirectory,
    home,
    async start(args = [], options = {}) {
      const celld = await startCelld({ imagesDirectory, home, args, ...options });
      started.push(celld);
      return celld;
    },
    driver: ({ socketPath }, celldUid) =>
      createCelldDriver({ socketPath, ...(celldUid === undefined ? {} : { celldUid }) }),
    residue() {
      const runDirectory = join(home, 'run');
      return readResidue({ instance: readFileSync(join(runDirectory, 'instance'), 'utf8').trim(), runDirectory });
    },
    async remove() {
      for (const celld of started) await celld.end('SIGKILL');
      await cells.settle();
      execFileSync('rm', ['-rf', home]);
      cells.remove();
    },
  };
}
