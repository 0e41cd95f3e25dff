import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type DockerBench, openDockerBench } from '../../../test/support/docker-bench.ts';
import { type DockerEngine, startDockerEngine } from '../../../test/support/docker-engine.ts';
import { leavingOut, omissions } from '../../../test/support/engine-lies.ts';
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

async function behind(lies: EngineLies) {
  const proxy = await openEngineProxy(engine.socketPath, lies);
  proxies = [...proxies, proxy];
  const driver = bench.open({ engine: { socketPath: proxy.socketPath } });
  return { proxy, driver, boot: () => bench.boot({}, driver) };
}
const started = ({ seen }: EngineProxy): number => seen.filter(({ path }) => path.endsWith('/start')).length;

it('boots behind a proxy that changes nothing, and asks in plain JSON of a length that it tells', async () => {
  const { proxy, boot } = await behind({});
  const cell = await boot();
  cell.run('say(1)');
  expect(await cell.heard()).toBe(1);
  await cell.dispatch({ cpu: 0.5, deadlineMs: 5000 });
  cell.kill('done');
  await cell.ended;
  const bodies = proxy.seen.filter(({ text }) => text !== '');
  expect(bodies.length).toBeGreaterThanOrEqual(3);
  for (const { headers, text } of bodies) {
    expect(headers['content-type']).toBe('application/json');
    expect(headers['transfer-encoding']).toBeUndefined();
    expect(headers['content-length']).toBe(String(Buffer.byteLength(text)));
    // One value, with no key twice: what is read of it is all of it.
    expect(JSON.stringify(JSON.parse(text))).toBe(text);
  }
  // The one thing that is sent without a length is an image.
  const chunked = proxy.seen.filter(({ headers }) => headers['transfer-encoding'] !== undefined);
  expect(new Set(chunked.map(({ path }) => path)).isSubsetOf(new Set(['/images/load']))).toBe(true);
});

describe('an engine that does not take what it is told is refused by name, and starts nothing:', () => {
  it.each(omissions)('$what', async (omission) => {
    const { proxy, boot } = await behind(leavingOut(omission));
    await expect(boot()).rejects.toMatchObject({
      code: 'ENGINE_REFUSED',
      message: expect.stringContaining(omission.property),
    });
    expect(started(proxy)).toBe(0);
    expect(await bench.driver.gauges()).toMatchObject({ cells: 0, uidClaims: 0 });
  });
});

describe('an engine that says of itself that it cannot limit cells is refused, and makes nothing:', () => {
  const says = (path: string, more: object): EngineLies => ({
    answer: (request, answer) =>
      request.path === path ? { ...answer, json: { ...(answer.json as object), ...more } } : answer,
  });
  it.each([
    { what: 'no cgroups', lies: says('/info', { CgroupDriver: 'none' }) },
    { what: 'no memory limit', lies: says('/info', { MemoryLimit: false }) },
    { what: 'no limit of processes', lies: says('/info', { PidsLimit: false }) },
    { what: 'no quota of processor time', lies: says('/info', { CpuCfsQuota: false }) },
    { what: 'an API that is too old', lies: says('/version', { ApiVersion: '1.40' }) },
    { what: 'an API that is too new', lies: says('/version', { ApiVersion: '1.99', MinAPIVersion: '1.90' }) },
    {
      what: 'a Podman that is too old',
      lies: says('/version', { Version: '4.2.0', Components: [{ Name: 'Podman Engine', Version: '4.2.0' }] }),
    },
    { what: 'no such information', lies: says('/info', { MemoryLimit: 'yes' }) },
  ])('$what', async ({ lies }) => {
    const { proxy, driver, boot } = await behind(lies);
    await expect(boot()).rejects.toMatchObject({ code: 'ENGINE_REFUSED' });
    expect(await driver.inspect(bench.image.digest)).toMatchObject({ usable: false });
    expect(proxy.seen.filter(({ path }) => path.endsWith('/create'))).toEqual([]);
  });
});
