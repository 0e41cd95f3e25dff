import { stdioArgument } from '@glovebox/cell';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DockerBench, openDockerBench } from '../../../test/support/docker-bench.ts';
import { type DockerEngine, startDockerEngine } from '../../../test/support/docker-engine.ts';
import { hiding, visibleOmissions } from '../../../test/support/engine-lies.ts';
import { openEngineProxy } from '../../../test/support/engine-proxy.ts';
import type { CreateBody } from './create-body.ts';

let engine: DockerEngine;
let bench: DockerBench;
beforeAll(async () => {
  engine = await startDockerEngine();
  bench = openDockerBench({ engine: { socketPath: engine.socketPath }, runtime: 'runc' });
});
afterAll(async () => {
  await engine.stop();
  bench.remove();
});

/** What the container's description hides, a probe cell sees. */
describe('an engine that says that all is as it was told is found out by a live cell, before any other boots:', () => {
  it.each(visibleOmissions)('$what', async (omission) => {
    const proxy = await openEngineProxy(engine.socketPath, hiding(omission));
    try {
      const driver = bench.open({ engine: { socketPath: proxy.socketPath } });
      await expect(bench.boot({}, driver)).rejects.toMatchObject({
        code: 'ENGINE_REFUSED',
        message: expect.stringContaining(omission.property),
      });
      const commands = proxy.seen
        .filter(({ path }) => path === '/containers/create')
        .map(({ json }) => (json as CreateBody).Cmd.at(-1));
      // Probes and witnesses of ours, and nothing that was to be booted.
      expect(commands).toContain('/glovebox/probe.cjs');
      expect(commands).not.toContain(stdioArgument);
      expect(await bench.driver.gauges()).toMatchObject({ cells: 0, uidClaims: 0 });
    } finally {
      await proxy.close();
    }
  });

  it('and one that hides nothing is not', async () => {
    const nothing = { what: 'nothing', property: '', change: (body: CreateBody) => body };
    const proxy = await openEngineProxy(engine.socketPath, hiding(nothing));
    try {
      const cell = await bench.boot({}, bench.open({ engine: { socketPath: proxy.socketPath } }));
      cell.run('say(1)');
      expect(await cell.heard()).toBe(1);
    } finally {
      await bench.settle();
      await proxy.close();
    }
  });
});

it('an engine that says that it started a container and did not is refused', async () => {
  const proxy = await openEngineProxy(engine.socketPath, {
    instead: ({ path }) => (path.endsWith('/start') ? { status: 204, json: undefined } : undefined),
  });
  try {
    const driver = bench.open({ engine: { socketPath: proxy.socketPath } });
    const begun = performance.now();
    await expect(bench.boot({}, driver)).rejects.toMatchObject({ code: 'ENGINE_REFUSED' });
    // Long before a probe's time is over, or that in which what a dead cell wrote can be read.
    expect(performance.now() - begun).toBeLessThan(15_000);
    expect(await bench.driver.gauges()).toMatchObject({ cells: 0, uidClaims: 0 });
  } finally {
    await proxy.close();
  }
});
