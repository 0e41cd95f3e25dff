import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { newCellId } from '@glovebox/contract';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../../../test/support/cell-bench.ts';
import { type DockerBench, openDockerBench } from '../../../test/support/docker-bench.ts';
import { remappedRootUid, startDockerEngine } from '../../../test/support/docker-engine.ts';
import type { RunningEngine } from '../../../test/support/engine-process.ts';
import { openEngineProxy } from '../../../test/support/engine-proxy.ts';
import { startPodmanEngine } from '../../../test/support/podman-engine.ts';

const MiB = 1024 * 1024;
const nothing = { cells: 0, processes: 0, cgroups: 0, mounts: 0, namespaces: 0, directories: 0, uidClaims: 0 };

interface Row {
  name: string;
  runtime: 'runc' | 'crun';
  start(): Promise<RunningEngine>;
  /** Where uids of its cells begin on the host. */
  firstUid: number;
  /** Podman does one thing at a time, and twenty boots at once are many things. */
  callDeadlineMs?: number;
}

const ownUids = 0x7000_0000;
const rows: Row[] = [
  {
    name: 'Docker with runc',
    runtime: 'runc',
    start: () => startDockerEngine(),
    firstUid: ownUids,
  },
  {
    name: 'Docker with crun',
    runtime: 'crun',
    start: () => startDockerEngine({ runtime: 'crun' }),
    firstUid: ownUids,
  },
  {
    name: 'Docker with mapped ids and crun',
    runtime: 'crun',
    start: () => startDockerEngine({ runtime: 'crun', usernsRemap: true }),
    firstUid: remappedRootUid,
  },
  {
    name: 'Podman with runc',
    runtime: 'runc',
    start: () => startPodmanEngine(),
    firstUid: ownUids,
    callDeadlineMs: 60_000,
  },
];

describe.each(rows)('cells of $name', (row) => {
  let engine: RunningEngine;
  let bench: DockerBench;
  /** Processes of the engine's own while no cell is there. */
  let idle: number;
  const children: ChildProcess[] = [];
  beforeAll(async () => {
    engine = await row.start();
    const { runtime, callDeadlineMs = 10_000 } = row;
    bench = openDockerBench({ engine: { socketPath: engine.socketPath }, runtime, callDeadlineMs });
    idle = engine.pids().length;
  });
  afterEach(async () => {
    for (const child of children.splice(0)) child.kill('SIGKILL');
    await bench.settle();
    await bench.driver.sweep();
    expect(await bench.driver.gauges()).toEqual(nothing);
    expect(await eventually(() => engine.pids().length <= idle)).toBe(true);
  });
  afterAll(async () => {
    await engine.stop();
    bench.remove();
  });

  it('are from inside all that cells must be', async () => {
    const { usable, facts } = await bench.driver.inspect(bench.image.digest);
    expect(facts.filter(({ required, state }) => required && state !== 'in-force')).toEqual([]);
    expect(usable).toBe(true);
    const cell = await bench.boot();
    expect(cell.facts.acceptedRisks).toEqual([]);
    cell.kill('done');
    const end = await cell.ended;
    expect(end).toMatchObject({ cause: 'done', exit: { code: null, signal: 'SIGKILL' } });
    expect(end.error).toBeUndefined();
    expect(end.peakMemoryBytes).toBeGreaterThan(MiB);
  });

  it('die by the kernel where they take more memory than they may, and may take what they are given', async () => {
    const greedy = await bench.boot({ memoryBytes: 96 * MiB });
    greedy.run('globalThis.kept = []; for (;;) kept.push(Buffer.alloc(8 * 1024 * 1024, 1))');
    expect(await greedy.ended).toMatchObject({ cause: 'oom' });
    const modest = await bench.boot({ memoryBytes: 160 * MiB });
    modest.run('globalThis.kept = Buffer.alloc(64 * 1024 * 1024, 1); say(kept.length)');
    expect(await modest.heard()).toBe(64 * MiB);
  });

  it('get no thread over their limit, and those below it', async () => {
    const threads = (wanted: number): string =>
      `leave(); process.env.UV_THREADPOOL_SIZE = '${wanted}'; require('node:fs').readFile('/glovebox/harness.cjs', () => say('read'))`;
    const greedy = await bench.boot({ pids: 16 });
    greedy.run(threads(64));
    expect(await greedy.heard()).toMatchObject({ ended: { cause: 'self', exit: { code: null } } });
    const modest = await bench.boot({ pids: 64 });
    modest.run(threads(8));
    expect(await modest.heard()).toBe('read');
  });

  it('get no more processor time than they are dispatched with, and die at their deadline whatever they ignore', async () => {
    const cell = await bench.boot({ cpu: 0.2 });
    cell.run("for (const s of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(s, () => {}); say('on')");
    expect(await cell.heard()).toBe('on');
    await cell.dispatch({ cpu: 0.2, deadlineMs: 4000 });
    cell.run(
      'let u = process.cpuUsage(), t = Date.now(); while (Date.now() - t < 1500); u = process.cpuUsage(u); say((u.user + u.system) / 1500e3); for (;;);',
    );
    expect(await cell.heard()).toBeLessThan(0.35);
    expect(await cell.ended).toMatchObject({ cause: 'deadline', exit: { code: null, signal: 'SIGKILL' } });
  });

  it('die at the end of their lifetime, and tell an exit of their own', async () => {
    const [idler, leaver] = await Promise.all([bench.boot({ lifetimeMs: 3000 }), bench.boot()]);
    leaver.run('process.reallyExit(7)');
    expect(await leaver.ended).toMatchObject({ cause: 'self', exit: { code: 7, signal: null } });
    expect(await idler.ended).toMatchObject({ cause: 'lifetime' });
  });

  it('have a scratch directory with a bound on bytes and one on files, and take both up to there', async () => {
    const cell = await bench.boot({ scratchBytes: 2 * MiB, scratchInodes: 64 });
    cell.run(`
      const fs = require('node:fs');
      const until = (action) => { for (let n = 0; ; n++) try { action(n); } catch (error) { return [n, error.code]; } };
      fs.writeFileSync('/tmp/whole', Buffer.alloc(1024 * 1024));
      fs.rmSync('/tmp/whole');
      const fd = fs.openSync('/tmp/big', 'w');
      const bytes = until(() => fs.writeSync(fd, Buffer.alloc(4096)));
      fs.closeSync(fd); fs.rmSync('/tmp/big');
      const files = until((n) => fs.writeFileSync('/tmp/' + n, ''));
      say({ bytes, files });
    `);
    const { bytes, files } = (await cell.heard()) as { bytes: [number, string]; files: [number, string] };
    expect([bytes[1], files[1]]).toEqual(['ENOSPC', 'ENOSPC']);
    expect(bytes[0] * 4096).toBeGreaterThan(1.9 * MiB);
    expect(bytes[0] * 4096).toBeLessThanOrEqual(2 * MiB);
    expect(files[0]).toBeGreaterThan(50);
    expect(files[0]).toBeLessThanOrEqual(64);
  });

  it('open no more files than they may', async () => {
    const cell = await bench.boot({ openFiles: 64 });
    cell.run(
      "const fs = require('node:fs'); let n = 0; try { for (;; n++) fs.openSync('/glovebox/harness.cjs'); } catch (error) { say([n, error.code]); }",
    );
    const [count, code] = (await cell.heard()) as [number, string];
    expect(code).toBe('EMFILE');
    expect(count).toBeGreaterThan(16);
    expect(count).toBeLessThan(64);
  });

  it('see the end of their channel when the host closes it', async () => {
    const cell = await bench.boot();
    cell.run('say(1)');
    expect(await cell.heard()).toBe(1);
    cell.channel.end();
    expect(await cell.ended).toMatchObject({ cause: 'self', exit: { code: 0, signal: null } });
  });

  it('wait when nobody reads, and neither the host nor the engine grows; what is read then is whole', async () => {
    const cell = await bench.driver.boot(bench.plan({ lifetimeMs: 60_000 }), newCellId());
    cell.stderr.resume();
    const total = 64 * MiB;
    cell.channel.write(
      `leave(); const fs = require('node:fs'); for (let n = 0; n < ${total / 65_536}; n++) { const part = Buffer.alloc(65536, n); for (let at = 0; at < part.length; ) at += fs.writeSync(4, part, at); } process.reallyExit(0);\0`,
    );
    const own = process.memoryUsage().rss;
    const engines = memoryOf(engine.pids());
    await sleep(3000);
    expect(process.memoryUsage().rss - own).toBeLessThan(32 * MiB);
    expect(memoryOf(engine.pids()) - engines).toBeLessThan(48 * MiB);

    let count = 0;
    let wrong = 0;
    cell.channel.on('data', (chunk: Buffer) => {
      for (let at = 0; at < chunk.length; at += 4096)
        if (chunk[at] !== (Math.floor((count + at) / 65_536) & 255)) wrong++;
      count += chunk.length;
    });
    expect(await cell.ended).toMatchObject({ cause: 'self', exit: { code: 0 } });
    await finished(cell.channel, { writable: false });
    expect({ count, wrong }).toEqual({ count: total, wrong: 0 });
  });

  it('are twenty at once, each under a uid of the host that no other has', async () => {
    const cells = await Promise.all(Array.from({ length: 20 }, () => bench.boot({ memoryBytes: 96 * MiB })));
    for (const cell of cells) cell.run('say(1)');
    expect(await Promise.all(cells.map((cell) => cell.heard()))).toEqual(Array(20).fill(1));
    const uids = engine
      .pids()
      .map(hostUidsOf)
      .filter(([uid = 0]) => uid >= row.firstUid);
    expect(new Set(uids.map(([uid]) => uid)).size).toBe(20);
    // Real, effective, saved and of the file system: all the same.
    expect(uids.every((all) => new Set(all).size === 1)).toBe(true);
    for (const cell of cells) cell.kill('done');
    expect((await Promise.all(cells.map((cell) => cell.ended))).filter(({ error }) => error !== undefined)).toEqual([]);
  });

  it('that a dead owner left are removed by a sweep, and nothing else is', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', owner, JSON.stringify(ownerInput())], {
      cwd: import.meta.dirname,
      env: { PATH: '/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    const mine = await bench.boot();
    expect(await bench.driver.sweep()).toMatchObject({ removed: { cells: 0, uidClaims: 0 } });
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    expect((await bench.driver.sweep()).removed).toMatchObject({ cells: 1, uidClaims: 1 });
    mine.run('say("alive")');
    expect(await mine.heard()).toBe('alive');
  });

  it('end as lost connections when all of them break off, and are dead then', async () => {
    const proxy = await openEngineProxy(engine.socketPath);
    try {
      const driver = bench.open({ engine: { socketPath: proxy.socketPath } });
      const cell = await bench.boot({}, driver);
      cell.run('say(1)');
      expect(await cell.heard()).toBe(1);
      proxy.cut();
      expect(await cell.ended).toMatchObject({ cause: 'violation', error: { code: 'ENGINE_UNREACHABLE' } });
      expect(await bench.driver.gauges()).toEqual(nothing);
      // The way is open again.
      const next = await bench.boot({}, driver);
      next.run('say(2)');
      expect(await next.heard()).toBe(2);
    } finally {
      await bench.settle();
      await proxy.close();
    }
  });

  it('end as such when the engine is killed, and when it is stopped and started, and are dead then', async () => {
    for (const away of [engine.kill, engine.shutDown]) {
      const cell = await bench.boot();
      cell.run('say(1)');
      expect(await cell.heard()).toBe(1);
      await away();
      await expect(bench.driver.boot(bench.plan(), newCellId())).rejects.toMatchObject({ code: 'ENGINE_UNREACHABLE' });
      await engine.start();
      const { cause, error } = await cell.ended;
      // An engine that stops in order kills its containers first, and that may be what is heard.
      expect(['violation', 'self']).toContain(cause);
      if (cause === 'violation') expect(['ENGINE_UNREACHABLE', 'CELL_LOST']).toContain(error?.code);
      await bench.driver.sweep();
      expect(await bench.driver.gauges()).toEqual(nothing);
    }
    const next = await bench.boot();
    next.run('say(2)');
    expect(await next.heard()).toBe(2);
  });

  const ownerInput = () => ({
    plan: bench.plan(),
    options: {
      instance: bench.instance,
      engine: { socketPath: engine.socketPath },
      runtime: row.runtime,
      runDirectory: `${bench.home}/run`,
      claimsDirectory: bench.claimsDirectory,
    },
  });
});

/** Another process that boots a cell, which goes on whatever becomes of its channel. */
const owner = `
  import { createDockerDriver } from '@glovebox/cell-docker';
  import { newCellId } from '@glovebox/contract';
  const { options, plan } = JSON.parse(process.argv[1]);
  const cell = await createDockerDriver(options).boot(plan, newCellId());
  cell.channel.write('leave(); setInterval(() => {}, 1000); say(1);\\0');
  cell.channel.once('data', () => console.log('up'));
  cell.stderr.resume();
  setInterval(() => {}, 1000);
`;

/** Resident, in bytes. */
function memoryOf(pids: readonly number[]): number {
  return pids.map((pid) => Number(field(pid, 'VmRSS')[0]) * 1024 || 0).reduce((sum, bytes) => sum + bytes, 0);
}

const hostUidsOf = (pid: number): number[] => field(pid, 'Uid').map(Number);

function field(pid: number, name: string): string[] {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return new RegExp(`^${name}:\\s+(.*)$`, 'm').exec(status)?.[1]?.split(/\s+/) ?? [];
  } catch {
    // It ended meanwhile.
    return [];
  }
}
