import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { CellDriver } from '@glovebox/cell';
import type { CellRole, LogRecord } from '@glovebox/contract';
import { type Engine, runTrial, type TrialEvents, type TrialResult } from '@glovebox/engine';
import { createImageStore } from '@glovebox/image-rootfs';
import { type DriverOverrides, defaultCells, openLocalEngine } from '../../apps/cli/src/local-engine.ts';
import { noteInstance } from './instances.ts';
import { type NodeSource, writeNode } from './node-package.ts';
import { openEngineDriver } from './test-driver.ts';

/** Images are made once for all tests; everything else of an engine is its own. */
export const sharedImages = fileURLToPath(new URL('../../.cache/test-images', import.meta.url));

export interface TestEngine {
  engine: Engine;
  dataDir: string;
  /** The role of each cell that was booted, in order. */
  boots: CellRole[];
  /** Write a node package of this source and run it. */
  run(source: NodeSource, options?: RunOptions): Promise<TestRun>;
  close(): Promise<void>;
}

export interface RunOptions {
  input?: unknown;
  config?: unknown;
  /** In place of `input`: the JSON text as it is. */
  inputText?: string;
  configText?: string;
  events?: TrialEvents;
  signal?: AbortSignal;
}

export interface TestRun extends TrialResult {
  logs: LogRecord[];
  /** Content of a file that the run wrote, as text. */
  file(name: string): Promise<string>;
}

/**
 * A whole engine with real cells, in a data directory of its own that `close` removes.
 *
 * @param driver what makes the cells, in place of one of the engine's own.
 */
export async function openTestEngine(overrides: DriverOverrides = {}, driver?: CellDriver): Promise<TestEngine> {
  const images = createImageStore({ dataDir: sharedImages });
  await images.build({});
  const dir = await mkdtemp(join(tmpdir(), 'glovebox-test-'));
  const dataDir = join(dir, 'data');
  const config = {
    dataDir,
    ...defaultCells,
    registry: undefined,
    minimumPackageAgeMs: undefined,
    extraCa: process.env.GLOVEBOX_EXTRA_CA,
  };
  const local = await openLocalEngine(config, overrides, { imagesDir: sharedImages });
  noteInstance(local.engine.signer.instance, join(dataDir, 'run'));
  const boots: CellRole[] = [];
  const place = { instance: local.engine.signer.instance, runDirectory: join(dataDir, 'run'), imagesDir: sharedImages };
  const makes = driver ?? openEngineDriver(place, overrides) ?? local.engine.driver;
  const engine: Engine = { ...local.engine, driver: counting(makes, boots) };
  let packages = 0;
  return {
    engine,
    dataDir,
    boots,
    async run(source, options = {}) {
      const packageDir = await writeNode(join(dir, `package-${packages++}`), source);
      const result = await runTrial(
        engine,
        {
          project: 'default',
          actor: 'local:uid=0',
          packageDir,
          inputText: options.inputText ?? JSON.stringify(options.input ?? {}),
          configText: options.configText ?? JSON.stringify(options.config ?? {}),
        },
        options.events,
        options.signal,
      );
      const logs = (await engine.store.logs(result.attempt)).map(({ seq: _seq, ...record }) => record);
      return { ...result, logs, file: (name) => readFileOf(engine, result, name) };
    },
    async close() {
      await local.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The same driver; what it boots is written down. */
function counting(driver: CellDriver, boots: CellRole[]): CellDriver {
  return {
    ...driver,
    boot: (plan, id) => {
      boots.push(plan.role);
      return driver.boot(plan, id);
    },
  };
}

async function readFileOf(engine: Engine, result: TrialResult, name: string): Promise<string> {
  const file = result.files.find((record) => record.name === name);
  if (!file) throw new Error(`the run wrote no ${name}`);
  const chunks: Uint8Array[] = [];
  for await (const chunk of engine.blobs.read(file.digest)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}
