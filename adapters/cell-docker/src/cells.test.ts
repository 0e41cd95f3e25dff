import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openUidClaims, readOwnMark } from '@glovebox/cell/host';
import { createOciDriver } from '@glovebox/cell-oci';
import { type Digest, GloveboxError, newCellId } from '@glovebox/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type DockerBench, openDockerBench } from '../../../test/support/docker-bench.ts';
import { type DockerEngine, startDockerEngine } from '../../../test/support/docker-engine.ts';
import { cellLabel } from './boot.ts';
import { createEngineApi } from './engine-api.ts';
import { createEngineClient } from './engine-client.ts';
import { tellsOfRefusedProcess } from './kernel-log.ts';

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
  it('is usable by what a live cell sees of itself, with what it goes without told', async () => {
    const { usable, facts } = await bench.driver.inspect(bench.image.digest);
    expect(facts.filter(({ required, state }) => required && state !== 'in-force')).toEqual([]);
    const namespace = facts.find(({ name }) => name === 'namespace-user');
    expect(namespace).toMatchObject({
      state: 'degraded',
      required: false,
      hint: expect.stringContaining('userns-remap'),
    });
    for (const limit of ['cgroup-memory', 'cgroup-pids', 'cgroup-cpu'])
      expect(facts.find(({ name }) => name === limit)?.detail).toMatch(/counted/);
    expect(usable).toBe(true);
  });

  it('boots nothing by a runtime that it does not know, nor in a class that its runtime does not have', async () => {
    const boot = (runtime: string, cellClass: 'ns' | 'gvisor' | 'kvm') =>
      bench.open({ runtime }).boot({ ...bench.plan(), class: cellClass }, newCellId());
    await expect(boot('other', 'ns')).rejects.toMatchObject({ code: 'ENGINE_REFUSED' });
    await expect(boot('runc', 'gvisor')).rejects.toMatchObject({ code: 'CLASS_UNAVAILABLE' });
    await expect(boot('runc', 'kvm')).rejects.toMatchObject({ code: 'CLASS_UNAVAILABLE' });
  });

  it('that cannot be reached is told as such, and a plan over a ceiling is refused without asking it', async () => {
    const driver = bench.open({ engine: { socketPath: `${engine.home}/none` } });
    expect(await driver.inspect(bench.image.digest)).toMatchObject({ usable: false });
    await expect(driver.boot(bench.plan(), newCellId())).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
    const greedy = { ...bench.plan(), mounts: ['/'] } as never;
    await expect(driver.boot(greedy, newCellId())).rejects.toMatchObject({ code: 'PLAN_REFUSED' });
    await expect(driver.boot(bench.plan(), '../x' as never)).rejects.toMatchObject({ code: 'PLAN_REFUSED' });
  });
});

describe('an image that an engine lacks', () => {
  it('is refused for what is wrong with its archive, and not for the call that breaks off with it', async () => {
    async function* archiveOf() {
      yield Buffer.alloc(1024 * 1024);
      throw new GloveboxError('IMAGE_CORRUPTED', { message: 'A layer is not what it was.' });
    }
    const image = `sha256:${'0'.repeat(64)}` as Digest;
    await expect(bench.open({ archiveOf }).boot({ ...bench.plan(), image }, newCellId())).rejects.toMatchObject({
      code: 'IMAGE_CORRUPTED',
    });
  });
});

describe('a cell of an engine', () => {
  it('answers over its standard streams, has ids of its own, and is gone when it is told to end', async () => {
    const [one, other] = await Promise.all([bench.boot(), bench.boot()]);
    for (const cell of [one, other]) cell.run('say([process.pid, process.getuid()])');
    const [[pid, uid], [, otherUid]] = (await Promise.all([one.heard(), other.heard()])) as [number[], number[]];
    expect(pid).toBe(1);
    expect(uid).toBeGreaterThan(0x7000_0000);
    expect(uid).not.toBe(otherUid);
    expect(await bench.driver.gauges()).toMatchObject({ cells: 2, cgroups: 2, uidClaims: 2 });
    one.kill('done');
    one.kill('cancelled');
    const end = await one.ended;
    expect(end).toMatchObject({ cause: 'done', exit: { code: null, signal: 'SIGKILL' }, pidsLimitHit: false });
    expect(end.error).toBeUndefined();
    expect(end.peakMemoryBytes).toBeGreaterThan(1024 * 1024);
    expect(end.peakPids).toBeGreaterThan(1);
    expect(await bench.driver.gauges()).toMatchObject({ cells: 1, uidClaims: 1 });
  });

  it('gets less processor time from its dispatch on, and dies at its deadline', async () => {
    const cell = await bench.boot({ cpu: 0.2 });
    const spin =
      'let u = process.cpuUsage(), t = Date.now(); while (Date.now() - t < 1500); u = process.cpuUsage(u); say((u.user + u.system) / 1500e3);';
    await cell.dispatch({ cpu: 0.2, deadlineMs: 4_000 });
    await expect(cell.dispatch({ cpu: 0.2, deadlineMs: 1 })).rejects.toMatchObject({ code: 'INTERNAL' });
    cell.run(spin);
    expect(await cell.heard()).toBeLessThan(0.35);
    expect(await cell.ended).toMatchObject({ cause: 'deadline', exit: { signal: 'SIGKILL' } });
  });

  it('is not given more by a dispatch than by its plan', async () => {
    const cell = await bench.boot();
    await expect(cell.dispatch({ cpu: 2, deadlineMs: 1_000 })).rejects.toMatchObject({ code: 'PLAN_REFUSED' });
  });

  it('dies at the end of its lifetime though nobody dispatched it', async () => {
    const cell = await bench.boot({ lifetimeMs: 1_500 });
    expect(await cell.ended).toMatchObject({ cause: 'lifetime' });
  });

  it('is killed by the kernel where it takes more memory than it may', async () => {
    const cell = await bench.boot({ memoryBytes: 64 * 1024 * 1024 });
    cell.run('const all = []; for (;;) all.push(Buffer.alloc(4 << 20, 1));');
    expect(await cell.heard()).toMatchObject({ ended: { cause: 'oom', exit: { signal: 'SIGKILL' } } });
  });

  it('tells that it was refused a thread for its limit of them', async () => {
    const cell = await bench.boot({ pids: 16 });
    const client = createEngineClient({ socketPath: engine.socketPath });
    const api = createEngineApi(client, { callMs: 5_000, loadMs: 5_000 }, `${bench.home}/run`);
    const [container] = (await api.list(cellLabel)).map(({ Id }) => Id);
    cell.run(
      "process.env.UV_THREADPOOL_SIZE = '64'; leave(); require('node:crypto').randomBytes(16, () => {}); setInterval(() => {}, 1000);",
    );
    expect(await cell.heard()).toMatchObject({
      ended: { cause: 'self', pidsLimitHit: true, exit: { code: null } },
    });
    // The kernel's word for it is there when the cgroup is not, so that it cannot be missed; and it is of that cell alone.
    expect(await tellsOfRefusedProcess(container ?? '')).toBe(true);
    expect(await tellsOfRefusedProcess('0'.repeat(64))).toBe(false);
  });

  it('tells its own exit', async () => {
    const cell = await bench.boot();
    cell.run('process.reallyExit(7)');
    const exit = { code: 7, signal: null };
    expect(await cell.heard()).toMatchObject({ ended: { cause: 'self', exit, pidsLimitHit: false } });
  });

  it('goes on over its channel while nobody reads what it writes to its error stream, and the host does not grow', async () => {
    const cell = await bench.driver.boot(bench.plan(), newCellId());
    const before = process.memoryUsage().rss;
    cell.channel.write(
      "leave(); const line = 'x'.repeat(65536); const more = () => process.stderr.write(line, more); for (let i = 0; i < 100; i++) more(); setInterval(() => say(1), 20);\0",
    );
    let heard = 0;
    cell.channel.on('data', (chunk: Buffer) => {
      heard += chunk.length;
    });
    await sleep(1_500);
    const then = heard;
    await sleep(500);
    expect(heard).toBeGreaterThan(then);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    cell.kill('done');
    expect(await cell.ended).toMatchObject({ cause: 'done' });
  });

  it('waits with what it says on its channel for whoever does not read it', async () => {
    const cell = await bench.driver.boot(bench.plan(), newCellId());
    cell.channel.write(
      "let n = 0; leave(); const fs = require('node:fs'); for (;;) fs.writeSync(4, Buffer.alloc(65536));\0",
    );
    const before = process.memoryUsage().rss;
    await sleep(1_500);
    expect(process.memoryUsage().rss - before).toBeLessThan(64 * 1024 * 1024);
    cell.kill('violation');
    expect(await cell.ended).toMatchObject({ cause: 'violation' });
  });
});

describe('an owner that is killed', () => {
  it('leaves a cell that keeps its uid from every other sweep, until one asks the engine', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', owner, JSON.stringify(ownerInput())], {
      cwd: import.meta.dirname,
      env: { PATH: '/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
    expect(await bench.driver.gauges()).toMatchObject({ cells: 1, processes: expect.any(Number), uidClaims: 1 });
    const claims = readdirSync(bench.claimsDirectory);

    const withoutEngine = createOciDriver({
      instance: bench.instance,
      runDirectory: `${bench.home}/oci`,
      claimsDirectory: bench.claimsDirectory,
      rootfsOf: () => bench.home,
    });
    await withoutEngine.sweep();
    expect(readdirSync(bench.claimsDirectory)).toEqual(claims);

    const report = await bench.driver.sweep();
    expect(report).toEqual({
      removed: { cells: 1, cgroups: 1, directories: 0, uidClaims: 1, processes: 1 },
      unknown: 0,
    });
  });

  it('leaves a claim that is freed where the engine has no container for it', async () => {
    const dead = readOwnMark(bench.instance);
    dead.owner.startTicks = '1';
    const claims = openUidClaims(bench.claimsDirectory);
    const [found] = await keepersOf(() => bench.boot());
    const claim = claims.claim(newCellId(), dead, found);
    const foreign = claims.claim(newCellId(), dead, 'docker-0000000000000000');
    await bench.settle();
    const { removed, unknown } = await bench.driver.sweep();
    const left = claims.list().map(({ path }) => path);
    for (const one of [claim, foreign]) claims.release(one);
    expect(removed).toMatchObject({ cells: 1, uidClaims: 1 });
    // Nobody can tell here what it is a claim for: it stays, and that is told.
    expect([left, unknown]).toEqual([[foreign.path], 1]);
  });

  it('is not one that lives: its cell is left alone and counted', async () => {
    const other = openDockerBenchOf(bench);
    const cell = await other.boot(bench.plan(), newCellId());
    // This process again, but under an instance of its own: alive, and not the one that sweeps.
    expect(await bench.driver.sweep()).toMatchObject({ removed: { cells: 0 }, unknown: 1 });
    expect(await bench.driver.gauges()).toEqual(nothing);
    cell.kill('done');
    expect((await cell.ended).error).toBeUndefined();
  });
});

const openDockerBenchOf = ({ open }: DockerBench) => open({ instance: `ins_${'0'.repeat(22)}` as never });

/** Who keeps the claims that a boot makes. */
async function keepersOf(boot: () => Promise<unknown>): Promise<string[]> {
  await boot();
  return openUidClaims(bench.claimsDirectory)
    .list()
    .flatMap(({ kept }) => kept?.keeper ?? []);
}

/** Goes on whatever becomes of its channel, as hostile code would. */
const owner = `
  import { createDockerDriver } from '@glovebox/cell-docker';
  import { newCellId } from '@glovebox/contract';
  const { options, plan } = JSON.parse(process.argv[1]);
  const driver = createDockerDriver(options);
  const cell = await driver.boot(plan, newCellId());
  cell.channel.write('leave(); setInterval(() => {}, 1000); say(1);\\0');
  cell.channel.once('data', () => console.log('up'));
  cell.stderr.resume();
  setInterval(() => {}, 1000);
`;

const ownerInput = () => ({
  plan: bench.plan(),
  options: {
    instance: bench.instance,
    engine: { socketPath: engine.socketPath },
    runtime: 'runc',
    runDirectory: `${bench.home}/run`,
    claimsDirectory: bench.claimsDirectory,
  },
});

describe('an engine that goes away', () => {
  it('is told at once, and nothing is kept of a boot that it never heard of', async () => {
    const driver = bench.open();
    const cell = await bench.boot({}, driver);
    cell.kill('done');
    await cell.ended;
    await engine.kill();
    try {
      const begun = performance.now();
      await expect(driver.boot(bench.plan(), newCellId())).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
      expect(performance.now() - begun).toBeLessThan(5_000);
      expect(openUidClaims(bench.claimsDirectory).list()).toEqual([]);
    } finally {
      await engine.start();
    }
  });

  it('is a typed end of the cells that it had, dead or not, and comes back as another time', async () => {
    const cell = await bench.boot();
    cell.run('say(1)');
    await cell.heard();
    const hasty = bench.open({ giveUpMs: 500 });
    const lost = await bench.boot({}, hasty);
    await engine.kill();
    const end = await lost.ended;
    expect(end).toMatchObject({ cause: 'violation', error: { code: 'CELL_LOST' } });
    await expect(bench.driver.boot(bench.plan(), newCellId())).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });

    await engine.start();
    expect(await cell.ended).toMatchObject({ cause: 'violation', error: { code: 'ENGINE_UNREACHABLE' } });
    // What was given up is left to the sweep of whoever gave it up.
    expect((await hasty.sweep()).removed).toMatchObject({ cells: 1, uidClaims: 1 });
    const next = await bench.boot();
    next.run('say(2)');
    expect(await next.heard()).toBe(2);
  });
});
