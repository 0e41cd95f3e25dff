import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type DockerBench, openDockerBench } from '../../../test/support/docker-bench.ts';
import { type DockerEngine, startDockerEngine } from '../../../test/support/docker-engine.ts';
import { type EngineLies, type EngineProxy, openEngineProxy } from '../../../test/support/engine-proxy.ts';

let engine: DockerEngine;
let bench: DockerBench;
let proxies: EngineProxy[] = [];
beforeAll(async () => {
  engine = await startDockerEngine();
  bench = openDockerBench({ engine: { socketPath: engine.socketPath }, runtime: 'runc' });
});
afterEach(async () => {
  await bench.settle();
  for (const proxy of proxies.splice(0)) await proxy.close();
});
afterAll(async () => {
  await engine.stop();
  bench.remove();
});

async function behind(lies: EngineLies, giveUpMs = 20_000) {
  const proxy = await openEngineProxy(engine.socketPath, lies);
  proxies = [...proxies, proxy];
  const driver = bench.open({ engine: { socketPath: proxy.socketPath }, giveUpMs });
  return { proxy, driver, boot: () => bench.boot({}, driver) };
}

it('is asked what it is by one boot of those that come together, and anew when it has been away', async () => {
  const { proxy, boot } = await behind({});
  const asked = (): number => proxy.seen.filter(({ path }) => path.endsWith('/info')).length;
  const cells = await Promise.all([boot(), boot()]);
  expect(asked()).toBe(1);
  for (const cell of cells) cell.run('say(1)');
  for (const cell of cells) expect(await cell.heard()).toBe(1);
  proxy.cut();
  for (const cell of cells) expect(await cell.ended).toMatchObject({ error: { code: 'ENGINE_UNREACHABLE' } });
  await boot();
  expect(asked()).toBe(2);
});

describe('an engine that answers and does nothing', () => {
  it('is found out where it sets no share of processor time, and the cell dies', async () => {
    const { boot } = await behind({
      instead: ({ path }) => (path.endsWith('/update') ? { status: 200, json: { Warnings: null } } : undefined),
    });
    const cell = await boot();
    await expect(cell.dispatch({ cpu: 0.5, deadlineMs: 5_000 })).rejects.toMatchObject({ code: 'CGROUP_UNAVAILABLE' });
    expect(await cell.ended).toMatchObject({ cause: 'violation' });
  });

  it('is not believed that a cell stopped which runs', async () => {
    let lying = false;
    const { boot } = await behind({
      instead: ({ path }) => (lying && path.endsWith('/wait') ? { status: 200, json: { StatusCode: 0 } } : undefined),
    });
    const peer = await boot();
    lying = true;
    const cell = await boot();
    expect(await cell.ended).toMatchObject({ cause: 'violation', error: { code: 'ENGINE_REFUSED' } });
    expect(await Promise.race([peer.ended.then(() => 'ended'), Promise.resolve('lives')])).toBe('lives');
  });

  it('is refused where it makes no container', async () => {
    const { boot } = await behind({
      instead: ({ path }) =>
        path === '/containers/create' ? { status: 201, json: { Id: 'a'.repeat(64), Warnings: [] } } : undefined,
    });
    await expect(boot()).rejects.toMatchObject({ code: 'ENGINE_REFUSED' });
  });

  it('loses a cell that it does not remove, which keeps its uid until an engine confirms that it is gone', async () => {
    let lying = false;
    const { boot, driver } = await behind(
      { instead: ({ method }) => (lying && method === 'DELETE' ? { status: 204, json: undefined } : undefined) },
      500,
    );
    const cell = await boot();
    lying = true;
    cell.kill('done');
    expect(await cell.ended).toMatchObject({ cause: 'done', error: { code: 'CELL_LOST' } });
    expect(await driver.gauges()).toMatchObject({ cells: 1, uidClaims: 1 });
    lying = false;
    expect((await driver.sweep()).removed).toMatchObject({ cells: 1, uidClaims: 1 });
  });

  it('loses a cell that it does not kill, and does not call it dead', async () => {
    let lying = false;
    const { boot, driver } = await behind(
      {
        instead: ({ method, path }) =>
          lying && (method === 'DELETE' || path.endsWith('/kill')) ? { status: 204, json: undefined } : undefined,
      },
      500,
    );
    const cell = await boot();
    lying = true;
    cell.kill('cancelled');
    expect(await cell.ended).toMatchObject({ cause: 'cancelled', error: { code: 'CELL_LOST' } });
    expect(await driver.gauges()).toMatchObject({ cells: 1, uidClaims: 1 });
    lying = false;
    expect((await driver.sweep()).removed).toMatchObject({ cells: 1, uidClaims: 1 });
  });
});
