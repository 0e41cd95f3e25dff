import { newCellId } from '@glovebox/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type DockerBench, openDockerBench } from '../../../test/support/docker-bench.ts';
import { type DockerEngine, startDockerEngine } from '../../../test/support/docker-engine.ts';

let engine: DockerEngine;
let bench: DockerBench;
beforeAll(async () => {
  engine = await startDockerEngine();
  bench = openDockerBench({ engine: { socketPath: engine.socketPath }, runtime: 'runc' });
});
const nothing = { cells: 0, processes: 0, cgroups: 0, mounts: 0, namespaces: 0, directories: 0, uidClaims: 0 };
afterEach(async () => {
  await bench.settle();
  expect(await bench.driver.gauges()).toEqual(nothing);
});
afterAll(async () => {
  await engine.stop();
  bench.remove();
});

describe('a host with an engine', () => {
  it('is usable by what a live cell sees of itself, with what is accepted told', async () => {
    const { usable, facts } = await bench.driver.inspect(bench.image.digest);
    expect(facts.filter(({ required, state }) => required && state !== 'in-force')).toEqual([]);
    expect(facts.find(({ name }) => name === 'namespace-user')).toMatchObject({
      state: 'missing',
      required: false,
      risk: 'user-namespace-missing',
    });
    expect(usable).toBe(true);
  });

  it('is not usable, and boots nothing, while nobody accepts that cells have no user namespace', async () => {
    const driver = bench.open({ acceptedRisks: [] });
    expect(await driver.inspect(bench.image.digest)).toMatchObject({ usable: false });
    await expect(driver.boot(bench.plan(), newCellId())).rejects.toMatchObject({ code: 'USERNS_UNAVAILABLE' });
  });
});

describe('a cell of an engine', () => {
  it('answers over its standard streams, and is gone when it is told to end', async () => {
    const cell = await bench.boot();
    cell.run('say([process.pid, process.getuid() >= 0x70000000])');
    expect(await cell.heard()).toEqual([1, true]);
    await cell.dispatch({ cpu: 0.5, deadlineMs: 20_000 });
    expect(await bench.driver.gauges()).toMatchObject({ cells: 1, cgroups: 1, uidClaims: 1 });
    cell.kill('done');
    const end = await cell.ended;
    expect(end).toMatchObject({ cause: 'done', exit: { code: null, signal: 'SIGKILL' }, pidsLimitHit: false });
    expect(end.error).toBeUndefined();
    expect(end.peakMemoryBytes).toBeGreaterThan(1024 * 1024);
  });
});
