import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Cell, cellCommand, type ProbeReport, planRunCell, readProbeReport } from '@glovebox/cell';
import { createOciDriver, type OciSpec } from '@glovebox/cell-oci';
import { type Digest, newCellId, newInstanceId } from '@glovebox/contract';
import { checkTests, checkTypes } from '@glovebox/engine';
import { createImageStore } from '@glovebox/image-rootfs';
import { openTestEngine, sharedImages } from './engine.ts';
import { type CellTrace, CellTraces } from './trace.ts';
import { load } from './trace-load.ts';

const MiB = 1024 * 1024;
const sources = {
  'package.json': '{"name":"made-up","version":"1.0.0","type":"module"}',
  'src/index.ts': 'export default (n: number): number => n + 1;\n',
};
const tests = {
  'test/a.test.ts': `import assert from 'node:assert/strict';
import fs from 'node:fs';
import { mock, test } from 'node:test';
import addOne from '../src/index.ts';
test('adds one', async (t) => {
  assert.equal(addOne(1), 2);
  fs.readFileSync('package.json');
  await t.test('inside', () => new Promise((done) => setTimeout(done, 5)));
  mock.method(fs, 'statSync', () => 1);
});
test.skip('not now', () => {});
`,
};

export interface RoleTraces {
  cells: CellTrace[];
  /** What the work gave: a trace of work that failed would show too little. */
  outcomes: { load: unknown; types: string; tests: string; probe: unknown; runtime: string; shim: string };
}

/**
 * Trace a cell of every role at its real work under one runtime: a node is bundled and run under load, a package's types
 * and tests are checked, the host is probed. And one cell begins with the program that moves the channel off the standard
 * streams, as cells do under an engine that passes nothing else.
 */
export async function traceAllRoles(dir: string, runtime: 'crun' | 'runc'): Promise<RoleTraces> {
  mkdirSync(dir, { recursive: true });
  const traces = new CellTraces(join(dir, 'traces'));
  const traced = { runtime, weakenForTest: traces.weakenForTest };
  const engine = await openTestEngine(traced);
  try {
    const { output } = await engine.run(load);
    const images = createImageStore({ dataDir: sharedImages });
    const [runtimeImage, builderImage] = await Promise.all([images.current('runtime'), images.current('builder')]);
    const rootfsOf = (digest: string): string => join(sharedImages, 'images', digest.slice('sha256:'.length), 'rootfs');
    const own = { instance: newInstanceId(), runDirectory: join(dir, 'run'), rootfsOf };
    const driver = createOciDriver({ ...own, ...traced });
    const checked = { driver, cellClass: 'ns' as const, image: builderImage.digest as Digest };
    const types = await checkTypes({ pkg: packageOf(sources), tarballs: [] }, checked);
    const tested = await checkTests({ pkg: packageOf({ ...sources, ...tests }), tarballs: [] }, checked);
    const report = await readProbe(await driver.boot(probePlan(runtimeImage.digest as Digest), newCellId()));
    const host = await driver.inspect();
    const shimmed = createOciDriver({
      ...own,
      ...traced,
      weakenForTest: (spec) => traces.weakenForTest(withShim(spec)),
    });
    const cell = await shimmed.boot(emptyPlan(runtimeImage.digest as Digest), newCellId());
    let said = '';
    cell.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
    cell.stdout.resume();
    cell.channel.resume();
    await cell.ended;
    return {
      cells: traces.read(),
      outcomes: {
        load: output,
        types: types.state,
        tests: tested.state,
        probe: report.calls.outcomes.filter(({ asExpected }) => !asExpected),
        runtime: host.facts.find(({ name }) => name === 'runtime')?.detail ?? '',
        shim: said,
      },
    };
  } finally {
    await engine.close();
  }
}

/** Up to its last call but one. The last is answered with death, which a traced process does not die of. */
async function readProbe(cell: Cell): Promise<ProbeReport> {
  const chunks: Buffer[] = [];
  cell.stderr.resume();
  for await (const chunk of cell.stdout as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    const report = attempt(() => readProbeReport(Buffer.concat(chunks)));
    if (report?.calls.complete) {
      cell.kill('done');
      await cell.ended;
      return report;
    }
  }
  throw new Error('the probe did not tell all');
}

const attempt = <T>(action: () => T): T | undefined => {
  try {
    return action();
  } catch {
    return undefined;
  }
};

const packageOf = (files: Record<string, string>) => ({
  files: new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
  dependencies: [],
});

const probePlan = (image: Digest) => ({ ...emptyPlan(image), role: 'probe' as const });

const emptyPlan = (image: Digest) =>
  planRunCell(
    image,
    {
      cpu: 1,
      memoryBytes: 128 * MiB,
      pids: 64,
      timeoutMs: 10_000,
      outputBytes: MiB,
      logBytes: MiB,
      filesBytes: 0,
      filesCount: 0,
      scratchBytes: MiB,
    },
    'ns',
  );

/** It finds the null device where such an engine puts the channel, and the guest therefore nobody who speaks to it. */
function withShim(spec: OciSpec): OciSpec {
  const args = cellCommand(emptyPlan(`sha256:${'0'.repeat(64)}` as Digest), { kind: 'stdio', marker: '' });
  return { ...spec, process: { ...spec.process, args } };
}
