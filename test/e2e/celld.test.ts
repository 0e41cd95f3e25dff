import { join } from 'node:path';
import type { CellDriver } from '@glovebox/cell';
import { createCelldDriver } from '@glovebox/cell-celld';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startCelld, type TestCelld } from '../support/celld.ts';
import { openTestEngine, sharedImages, type TestEngine, type TestRun } from '../support/engine.ts';
import { leftovers } from '../support/use-engine.ts';

/** The same engine twice: with a driver in this process, and with celld in between. */
let here: TestEngine;
let there: TestEngine;
let celld: TestCelld;
beforeAll(async () => {
  here = await openTestEngine();
  celld = await startCelld({ imagesDirectory: join(sharedImages, 'images') });
  const driver: CellDriver = createCelldDriver({ socketPath: celld.socketPath });
  there = await openTestEngine({}, driver);
});
afterAll(async () => {
  try {
    const left = leftovers(there.dataDir);
    expect(await there.engine.driver.gauges()).toMatchObject({ cells: 0, processes: 0, cgroups: 0, uidClaims: 0 });
    expect(left).toEqual([]);
  } finally {
    expect(await celld.end('SIGTERM')).toBe(0);
    await here.close();
    await there.close();
  }
});

const receiptOf = async ({ engine }: TestEngine, { run }: TestRun) => {
  const record = await engine.store.get('default', run);
  const { payload } = JSON.parse(record?.attempts[0]?.end?.receiptText ?? '{}') as { payload: string };
  const { predicate } = JSON.parse(Buffer.from(payload, 'base64').toString()) as {
    predicate: { observed: Record<string, unknown> };
  };
  const { image, plan, class: cellClass, driver, properties, acceptedRisks, outputDigest, files } = predicate.observed;
  return { image, plan, class: cellClass, driver, properties, acceptedRisks, outputDigest, files };
};

describe('a whole run over celld', () => {
  it('is built, run and recorded as in one process, and its receipt names what made the cell', async () => {
    const source = {
      body: `
        ctx.log.info('reading', { n: ctx.input.n });
        console.error('said on stderr');
        await ctx.files.write('out.txt', 'x'.repeat(200_000));
        return { twice: ctx.input.n * 2, text: 'y'.repeat(100_000) };`,
      manifest: { capabilities: { files: { maxBytes: '1MiB', maxCount: 2 } } },
    };
    const runs = [await here.run(source, { input: { n: 21 } }), await there.run(source, { input: { n: 21 } })];
    const [local, remote] = runs as [TestRun, TestRun];
    expect(local.state, JSON.stringify(local.error)).toBe('SUCCEEDED');
    const comparable = ({ state, error, output, files, logs }: TestRun) => ({
      state,
      error,
      output,
      files,
      logs: logs.map(({ atMs: _atMs, ...record }) => record).sort((a, b) => a.message.localeCompare(b.message)),
    });
    expect(comparable(remote)).toEqual(comparable(local));
    expect(await receiptOf(there, remote)).toEqual(await receiptOf(here, local));
    expect((await receiptOf(there, remote)).driver).toMatchObject({ name: 'oci' });
    expect(there.boots).toEqual(here.boots);
    expect(there.boots).toContain('bundle');
  });

  it.each([
    ['throws', `throw new Error('no');`],
    ['takes all memory', 'const all = []; for (;;) all.push(Buffer.alloc(5_000_000, 1));'],
    ['never ends', 'for (;;) ;'],
  ])('of a node that %s ends as in one process', async (_what, body) => {
    const source = { body, manifest: { resources: { timeout: '2s', memory: '96MiB' } } };
    const local = await here.run(source);
    const remote = await there.run(source);
    expect(local.state).not.toBe('SUCCEEDED');
    expect([remote.state, remote.error?.code]).toEqual([local.state, local.error?.code]);
  });

  it('is cancelled as in one process', async () => {
    const source = { body: `ctx.log.info('on'); await ctx.clock.sleep(60_000); return 1;` };
    const abort = new AbortController();
    const run = await there.run(source, { signal: abort.signal, events: { onLog: () => abort.abort('enough') } });
    expect(run.state).toBe('CANCELLED');
  });
});
