import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { LogRecord } from '@glovebox/contract';
import { type Engine, runTrial, type TrialEvents, type TrialResult } from '@glovebox/engine';
import { createImageStore } from '@glovebox/image-rootfs';
import { type DriverOverrides, openLocalEngine } from '../../apps/cli/src/local-engine.ts';
import { type NodeSource, writeNode } from './node-package.ts';

/** Images are made once for all tests; everything else of an engine is its own. */
const sharedImages = fileURLToPath(new URL('../../.cache/test-images', import.meta.url));

export interface TestEngine {
  engine: Engine;
  dataDir: string;
  /** Write a node package of this source and run it. */
  run(source: NodeSource, options?: RunOptions): Promise<TestRun>;
  close(): Promise<void>;
}

export interface RunOptions {
  input?: unknown;
  config?: unknown;
  events?: TrialEvents;
  signal?: AbortSignal;
}

export interface TestRun extends TrialResult {
  logs: LogRecord[];
  /** Content of a file that the run wrote, as text. */
  file(name: string): Promise<string>;
}

/** A whole engine with real cells, in a data directory of its own that `close` removes. */
export async function openTestEngine(overrides: DriverOverrides = {}): Promise<TestEngine> {
  const images = createImageStore({ dataDir: sharedImages });
  await images.build({});
  const dir = await mkdtemp(join(tmpdir(), 'glovebox-test-'));
  const dataDir = join(dir, 'data');
  const config = { dataDir, runtime: 'auto', registry: undefined, extraCa: process.env.GLOVEBOX_EXTRA_CA };
  const local = await openLocalEngine(config, overrides, { imagesDir: sharedImages });
  let packages = 0;
  return {
    engine: local.engine,
    dataDir,
    async run(source, options = {}) {
      const packageDir = await writeNode(join(dir, `package-${packages++}`), source);
      const result = await runTrial(
        local.engine,
        {
          project: 'default',
          actor: 'local:uid=0',
          packageDir,
          inputText: JSON.stringify(options.input ?? {}),
          configText: JSON.stringify(options.config ?? {}),
        },
        options.events,
        options.signal,
      );
      const logs = (await local.engine.store.logs(result.attempt)).map(({ seq: _seq, ...record }) => record);
      return { ...result, logs, file: (name) => readFileOf(local.engine, result, name) };
    },
    async close() {
      await local.close();
      await rm(dir, { recursive: true, force: true });
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
