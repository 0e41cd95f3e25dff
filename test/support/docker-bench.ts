import { createHash } from 'node:crypto';
import {
  createReadStream,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cell, CellDriver } from '@glovebox/cell';
import { createDockerDriver, type DockerDriverOptions } from '@glovebox/cell-docker';
import { type CellPlan, type Digest, type InstanceId, newCellId, newInstanceId } from '@glovebox/contract';
import { type BenchCell, benchHarness, benchPlan, listenTo } from './cell-bench.ts';
import { makeCellRootfs } from './cell-rootfs.ts';
import { tarItem } from './tar-writer.ts';

export interface EngineImage {
  digest: Digest;
  archive(): AsyncIterable<Uint8Array>;
}

/** An image of one layer, from a root directory, as engines take it in. Its digest is that of its config, as with real ones. */
export function packEngineImage(rootfs: string, directory: string): EngineImage {
  mkdirSync(directory, { recursive: true });
  const layer = Buffer.concat([...walk(rootfs, ''), tarEnd]);
  const diffId = `sha256:${createHash('sha256').update(layer).digest('hex')}`;
  const config = JSON.stringify({
    architecture: 'amd64',
    os: 'linux',
    created: '1970-01-01T00:00:00Z',
    config: { WorkingDir: '/' },
    rootfs: { type: 'layers', diff_ids: [diffId] },
    history: [{ created: '1970-01-01T00:00:00Z', created_by: 'test' }],
  });
  const hex = createHash('sha256').update(config).digest('hex');
  const manifest = JSON.stringify([{ Config: `${hex}.json`, RepoTags: null, Layers: ['layer.tar'] }]);
  const archive = join(directory, 'image.tar');
  const items = [
    { name: 'layer.tar', content: layer },
    { name: `${hex}.json`, content: config },
    { name: 'manifest.json', content: manifest },
  ];
  writeFileSync(archive, Buffer.concat([...items.map(tarItem), tarEnd]));
  return { digest: `sha256:${hex}` as Digest, archive: () => createReadStream(archive) };
}

const tarEnd = Buffer.alloc(1024);

function* walk(root: string, path: string): Generator<Buffer> {
  for (const name of readdirSync(join(root, path)).sort()) {
    const below = join(path, name);
    const stat = lstatSync(join(root, below));
    const mode = stat.mode & 0o7777;
    if (stat.isDirectory()) {
      yield tarItem({ name: `${below}/`, type: '5', mode });
      yield* walk(root, below);
    } else {
      yield tarItem({ name: below, mode, content: readFileSync(join(root, below)) });
    }
  }
}

/** A real driver over a real engine, with an image of the test's own, for tests of cells. */
export interface DockerBench {
  home: string;
  instance: InstanceId;
  claimsDirectory: string;
  image: EngineImage;
  driver: CellDriver;
  /** Another driver over the same directories. */
  open(options?: Partial<DockerDriverOptions>): CellDriver;
  plan(limits?: Partial<CellPlan['limits']>, role?: CellPlan['role']): CellPlan;
  boot(limits?: Partial<CellPlan['limits']>, driver?: CellDriver): Promise<BenchCell>;
  /** Kill what a failed test left alive, so that it does not fail the next one too. */
  settle(): Promise<void>;
  remove(): void;
}

export function openDockerBench(
  given: Partial<DockerDriverOptions> & Pick<DockerDriverOptions, 'engine'>,
): DockerBench {
  const home = mkdtempSync(join(tmpdir(), 'glovebox-docker-'));
  const image = packEngineImage(makeCellRootfs(join(home, 'rootfs'), benchHarness(4)), join(home, 'image'));
  const instance = given.instance ?? newInstanceId();
  const claimsDirectory = join(home, 'uids');
  const open = (options: Partial<DockerDriverOptions> = {}): CellDriver =>
    createDockerDriver({
      instance,
      runDirectory: join(home, 'run'),
      claimsDirectory,
      archiveOf: image.archive,
      ...given,
      ...options,
    });
  const driver = open();
  const booted: Cell[] = [];
  const plan: DockerBench['plan'] = (limits, role) => benchPlan(image.digest, limits, role);
  return {
    home,
    instance,
    claimsDirectory,
    image,
    driver,
    open,
    plan,
    boot: async (limits = {}, by = driver) => {
      const cell = await by.boot(plan(limits), newCellId());
      booted.push(cell);
      return listenTo(cell);
    },
    settle: async () => {
      for (const cell of booted.splice(0)) {
        cell.kill('done');
        await cell.ended;
      }
    },
    remove: () => rmSync(home, { recursive: true, force: true }),
  };
}
