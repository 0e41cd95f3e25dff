import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { newCellId } from '@glovebox/contract';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { eventually, openCellBench } from '../../../test/support/cell-bench.ts';

const bench = openCellBench();
const clean = bench.residue();
afterEach(async () => {
  const left = bench.residue();
  await bench.settle();
  expect(left).toEqual(clean);
});
afterAll(() => bench.remove());

const MiB = 1024 * 1024;

describe.each(['crun', 'runc'] as const)('under %s', (runtime) => {
  const driver = bench.open({ runtime });

  it('ends a cell that takes more memory than its plan gives with cause oom and its peak', async () => {
    const cell = await bench.boot({ memoryBytes: 96 * MiB }, driver);
    cell.run('globalThis.kept = []; for (;;) kept.push(Buffer.alloc(8 * 1024 * 1024, 1))');
    const end = await cell.ended;
    expect(end).toMatchObject({ cause: 'oom' });
    expect(end.peakMemoryBytes).toBeGreaterThan(90 * MiB);
    expect(end.peakMemoryBytes).toBeLessThanOrEqual(96 * MiB);
  });

  it('lets a cell take the memory that its plan gives', async () => {
    const cell = await bench.boot({ memoryBytes: 160 * MiB }, driver);
    cell.run('globalThis.kept = Buffer.alloc(64 * 1024 * 1024, 1); say(kept.length)');
    expect(await cell.heard()).toBe(64 * MiB);
    cell.kill('done');
    expect(await cell.ended).toMatchObject({ cause: 'done' });
  });

  it('refuses threads over the pids limit and tells that it was hit', async () => {
    const cell = await bench.boot({ pids: 16 }, driver);
    // libuv starts its threads with the first work for them and aborts when it cannot.
    cell.run(
      "leave(); process.env.UV_THREADPOOL_SIZE = '64'; require('node:fs').readFile('/glovebox/harness.cjs', () => say('read'))",
    );
    const end = await cell.ended;
    expect(end.pidsLimitHit).toBe(true);
    expect(end.peakPids).toBeLessThanOrEqual(16);
    expect(end.cause).toBe('self');
  });

  it('does not tell of the pids limit when a cell stays under it', async () => {
    const cell = await bench.boot({ pids: 64 }, driver);
    cell.run("leave(); require('node:fs').readFile('/glovebox/harness.cjs', () => say('read'))");
    expect(await cell.heard()).toBe('read');
    cell.kill('done');
    const end = await cell.ended;
    expect(end.pidsLimitHit).toBe(false);
    expect(end.peakPids).toBeGreaterThan(4);
  });

  it('kills at its deadline a busy loop that ignores every signal', async () => {
    const cell = await bench.boot({}, driver);
    cell.run("for (const s of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(s, () => {}); say('on')");
    expect(await cell.heard()).toBe('on');
    await cell.dispatch({ cpu: 1, deadlineMs: 300 });
    cell.run('for (;;) ;');
    expect(await cell.ended).toMatchObject({ cause: 'deadline', exit: { code: null, signal: 'SIGKILL' } });
  });
});

it('kills at the end of its lifetime a cell that was never dispatched', async () => {
  const cell = await bench.boot({ lifetimeMs: 1000 });
  expect(await cell.ended).toMatchObject({ cause: 'lifetime' });
});

it('lets a cell that ends before its deadline end by itself', async () => {
  const cell = await bench.boot();
  await cell.dispatch({ cpu: 1, deadlineMs: 20_000 });
  cell.run('process.exit(0)');
  expect(await cell.ended).toMatchObject({ cause: 'self', exit: { code: 0, signal: null } });
});

it('is dispatched once, and with no more than its plan', async () => {
  const cell = await bench.boot({ cpu: 0.5 });
  await expect(cell.dispatch({ cpu: 1, deadlineMs: 1000 })).rejects.toMatchObject({ code: 'PLAN_REFUSED' });
  await expect(cell.dispatch({ cpu: 0.5, deadlineMs: 0 })).rejects.toMatchObject({ code: 'PLAN_REFUSED' });
  await cell.dispatch({ cpu: 0.5, deadlineMs: 20_000 });
  await expect(cell.dispatch({ cpu: 0.5, deadlineMs: 20_000 })).rejects.toMatchObject({ code: 'INTERNAL' });
  cell.kill('done');
  await cell.ended;
});

it('keeps the first of two reasons to kill', async () => {
  const cell = await bench.boot();
  cell.kill('cancelled');
  cell.kill('violation');
  expect(await cell.ended).toMatchObject({ cause: 'cancelled' });
});

it('answers ENOSPC over the bytes of the scratch directory, and takes them up to there', async () => {
  const cell = await bench.boot({ scratchBytes: 2 * MiB });
  cell.run(`
    const fs = require('node:fs');
    const chunk = Buffer.alloc(64 * 1024, 1);
    let written = 0;
    const fd = fs.openSync('/tmp/fill', 'w');
    try { for (;;) written += fs.writeSync(fd, chunk); } catch (error) { say({ code: error.code, written }); }
    try { fs.ftruncateSync(fd, 2 ** 40); say('sparse'); } catch (error) { say(error.code); }
  `);
  expect(await cell.heard()).toEqual({ code: 'ENOSPC', written: 2 * MiB });
  expect(await cell.heard()).toBe('EFBIG');
  cell.kill('done');
  await cell.ended;
});

it('answers ENOSPC over the inodes of the scratch directory before memory runs out', async () => {
  const cell = await bench.boot({ scratchInodes: 32 });
  cell.run(`
    const fs = require('node:fs');
    let made = 0;
    try { for (;;) fs.closeSync(fs.openSync('/tmp/' + made++, 'w')); } catch (error) { say({ code: error.code, made: made - 1 }); }
  `);
  expect(await cell.heard()).toEqual({ code: 'ENOSPC', made: 32 });
  cell.kill('done');
  await cell.ended;
});

it('opens only as many files as the plan says', async () => {
  const cell = await bench.boot({ openFiles: 64 });
  cell.run(`
    const fs = require('node:fs');
    const open = [];
    try { for (;;) open.push(fs.openSync('/glovebox/harness.cjs', 'r')); } catch (error) { say({ code: error.code, some: open.length > 20 }); }
  `);
  expect(await cell.heard()).toEqual({ code: 'EMFILE', some: true });
  cell.kill('done');
  await cell.ended;
});

it('cannot start a process, a worker or an addon even where Node.js would let it', async () => {
  const driver = bench.open({
    // Node.js's own permissions off: what refuses is the wall and not the hygiene.
    weakenForTest: (spec) => ({
      ...spec,
      process: {
        ...spec.process,
        args: spec.process.args.filter((arg) => arg !== '--permission' && !arg.startsWith('--allow-')),
      },
    }),
  });
  const cell = await bench.boot({}, driver);
  cell.run(`
    const { spawnSync } = require('node:child_process');
    const fs = require('node:fs');
    fs.copyFileSync('/glovebox/sysprobe', '/tmp/program');
    fs.copyFileSync('/lib/x86_64-linux-gnu/libm.so.6', '/tmp/library.node');
    const code = (action) => { try { return action() ?? 'ok'; } catch (error) { return error.code ?? error.message; } };
    say({
      spawn: spawnSync('/usr/bin/node', ['-e', '1']).error?.code,
      execFromScratch: code(() => process.execve('/tmp/program', ['program'], {})),
      addonFromScratch: code(() => process.dlopen({ exports: {} }, '/tmp/library.node')),
      kill: code(() => process.kill(1, 0)),
      root: code(() => process.setuid(0)),
      chroot: fs.readdirSync('/').includes('home'),
    });
  `);
  const heard = (await cell.heard()) as Record<string, unknown>;
  expect(heard).toMatchObject({ spawn: 'EPERM', kill: 'EPERM', root: 'EPERM', chroot: false });
  expect(heard.execFromScratch).toMatch(/EACCES|denied/i);
  expect(heard.addonFromScratch).toMatch(/ERR_DLOPEN_FAILED|failed to map/);
  cell.kill('done');
  await cell.ended;
});

it('blocks a cell that floods a stream nobody reads, and the host stays as it is', async () => {
  const cell = await bench.driver.boot(bench.plan(), newCellId());
  cell.channel.write(
    "say(1); const fs = require('node:fs'); const chunk = Buffer.alloc(65536, 120); for (;;) fs.writeSync(1, chunk);\0",
  );
  await once(cell.channel, 'data');
  const before = process.memoryUsage.rss();
  const pid = bench
    .residue()
    .processes.find((line) => line.includes('node'))
    ?.split(' ')[0];
  const written = (): number => Number(/^wchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
  let last = -1;
  // It has stopped when two looks see the same count above zero.
  await eventually(() => {
    const now = written();
    const stopped = now === last && now > 65_536;
    last = now;
    return stopped;
  });
  expect(last).toBeLessThan(4 * MiB);
  expect(process.memoryUsage.rss() - before).toBeLessThan(64 * MiB);
  cell.kill('violation');
  expect(await cell.ended).toMatchObject({ cause: 'violation' });
});
