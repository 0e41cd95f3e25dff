import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Engine, runTrial, type TrialResult, verifyRun } from '@glovebox/engine';
import { createImageStore } from '@glovebox/image-rootfs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultCells, type LocalEngine, openLocalEngine } from '../../apps/cli/src/local-engine.ts';
import { sharedImages } from '../support/engine.ts';
import { noteInstance } from '../support/instances.ts';
import { type NodeSource, writeNode } from '../support/node-package.ts';
import { actor, goodPackage, validateFiles } from '../support/validation.ts';

describe('with class gvisor configured', () => {
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-gvisor-'));
  const dataDir = join(dir, 'data');
  let local: LocalEngine;
  let engine: Engine;
  beforeAll(async () => {
    await createImageStore({ dataDir: sharedImages }).build({});
    local = await openLocalEngine(
      {
        ...defaultCells,
        cellClass: 'gvisor',
        acceptedRisks: ['scratch-inodes-unlimited'],
        dataDir,
        registry: undefined,
        minimumPackageAgeMs: undefined,
        extraCa: undefined,
      },
      {},
      { imagesDir: sharedImages },
    );
    engine = local.engine;
    noteInstance(engine.signer.instance);
  });
  afterAll(async () => {
    await local?.close();
    rmSync(dir, { recursive: true, force: true });
  });

  let packages = 0;
  const run = async (source: NodeSource): Promise<TrialResult> => {
    const packageDir = await writeNode(join(dir, `package-${packages++}`), source);
    return runTrial(engine, { project: 'default', actor, packageDir, inputText: '{"a":1}', configText: '{}' });
  };

  it('a node is built and run on kernels in user space, and its receipt says class, runtime and risk', async () => {
    const result = await run({
      body: `ctx.log.info('seen'); console.log('printed'); return { input: ctx.input, kernel: process.version };`,
    });
    expect(result).toMatchObject({
      state: 'SUCCEEDED',
      output: { input: { a: 1 }, kernel: expect.stringMatching(/^v26/) },
    });
    const key = readFileSync(join(dataDir, 'keys', 'signing.pub.pem'), 'utf8');
    const { statement } = await verifyRun(engine, 'default', result.run, [key]);
    expect(statement.predicate.observed).toMatchObject({
      driver: { name: 'oci', runtime: 'runsc' },
      acceptedRisks: ['scratch-inodes-unlimited'],
      peaks: { pids: null },
    });
    expect(statement.predicate.observed.properties).toEqual(expect.arrayContaining(['kernel-user-space', 'seccomp']));
  });

  it.each<[string, NodeSource, string]>([
    ['that never ends', { body: 'for (;;) {}', manifest: { resources: { timeout: '2s' } } }, 'TIMED_OUT'],
    [
      'that takes all memory',
      {
        body: 'const a = []; for (;;) a.push(Buffer.alloc(1 << 20, 1));',
        manifest: { resources: { memory: '96MiB' } },
      },
      'OUT_OF_MEMORY',
    ],
    ['that fails', { body: "throw new Error('own words');" }, 'FAILED'],
    ['that opens a socket', { body: "await import('node:net').then((net) => net.connect(80, '1.1.1.1'));" }, 'FAILED'],
  ])('a node %s ends in its state', async (_, source, state) => {
    expect((await run(source)).state).toBe(state);
  });

  it('a package passes every check, and one that does not is told why', async () => {
    const good = await validateFiles(engine, goodPackage());
    expect(good.report).toMatchObject({ valid: true });
    const bad = await validateFiles(
      engine,
      goodPackage({ 'fixtures/basic.json': JSON.stringify({ input: { a: 1, b: 2 }, expect: { output: { sum: 4 } } }) }),
    );
    expect(bad.report).toMatchObject({ valid: false });
    expect(bad.report.findings.map(({ check }) => check)).toEqual(['fixtures']);
  });
});
