import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { newCellId } from '@glovebox/contract';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { benchHarness, type CellBench, eventually, openCellBench } from '../../../test/support/cell-bench.ts';
import { setHarness } from '../../../test/support/cell-rootfs.ts';
import { readHierarchies } from './cgroup-hierarchies.ts';

const MiB = 1024 * 1024;
const bench = openCellBench({ acceptedRisks: ['scratch-inodes-unlimited'] });
setHarness(bench.rootfs, benchHarness(4));
const clean = bench.residue();
afterEach(async () => {
  await bench.settle();
  expect(bench.residue()).toEqual(clean);
});
afterAll(() => bench.remove());

const boot = (limits: Parameters<CellBench['boot']>[0] = {}): ReturnType<CellBench['boot']> =>
  bench.boot(limits, bench.driver, 'gvisor');

describe('a cell on a kernel in user space', () => {
  it('ends with cause oom, and its peak, where it takes more memory than its plan gives', async () => {
    const cell = await boot({ memoryBytes: 128 * MiB });
    cell.run('globalThis.kept = []; for (;;) kept.push(Buffer.alloc(8 * 1024 * 1024, 1))');
    const end = await cell.ended;
    expect(end).toMatchObject({ cause: 'oom', peakPids: null });
    expect(end.error).toBeUndefined();
    expect(end.peakMemoryBytes).toBeGreaterThan(120 * MiB);
    expect(end.peakMemoryBytes).toBeLessThanOrEqual(128 * MiB);
  });

  it('takes the memory that its plan gives, with that of its kernel', async () => {
    const cell = await boot({ memoryBytes: 128 * MiB });
    cell.run('globalThis.kept = Buffer.alloc(64 * 1024 * 1024, 1); say(kept.length)');
    expect(await cell.heard()).toBe(64 * MiB);
    cell.kill('done');
    expect(await cell.ended).toMatchObject({ cause: 'done' });
  });

  it('fills its scratch directory to the byte and no further, and with empty files its own memory alone', async () => {
    const cell = await boot({ memoryBytes: 128 * MiB });
    cell.run(`const fs = require('node:fs'); const fd = fs.openSync('/tmp/a', 'w'); let written = 0;
      try { for (;;) written += fs.writeSync(fd, Buffer.alloc(65536)); } catch (error) { say([written, error.code]); }`);
    expect(await cell.heard()).toEqual([MiB, 'ENOSPC']);
    cell.run("for (let i = 0; ; i++) require('node:fs').writeFileSync('/tmp/f' + i, '')");
    expect((await cell.ended).cause).toMatch(/^(oom|lifetime)$/);
  });

  it('is killed at its deadline, whatever it does', async () => {
    const cell = await boot();
    cell.run("for (const name of ['SIGTERM', 'SIGINT']) process.on(name, () => {}); say(1)");
    expect(await cell.heard()).toBe(1);
    await cell.dispatch({ cpu: 0.5, deadlineMs: 500 });
    cell.run('for (;;) ;');
    expect(await cell.ended).toMatchObject({ cause: 'deadline', exit: { signal: 'SIGKILL' } });
  });

  it('is limited in tasks with all of its kernel, and in processor time as dispatched', async () => {
    const cell = await boot({ pids: 32 });
    cell.run('say(1)');
    expect(await cell.heard()).toBe(1);
    await cell.dispatch({ cpu: 0.5, deadlineMs: 30_000 });
    const { of } = readHierarchies();
    const read = (controller: string, file: string): string => {
      const found = bench.residue().cgroups.find((path) => path.startsWith(of(controller)?.mountPoint ?? '?'));
      return readFileSync(`${found}/${file}`, 'utf8').trim();
    };
    expect(read('pids', 'pids.max')).toBe(String(2 * 32 + 64));
    const first = of('cpu')?.version === 1;
    expect(read('cpu', first ? 'cpu.cfs_quota_us' : 'cpu.max').split(' ')[0]).toBe('50000');
    expect(Number(read('pids', 'pids.current'))).toBeGreaterThan(20);
    cell.kill('done');
    await cell.ended;
  });

  it('shares neither host ids nor anything else with the next one', async () => {
    const cells = await Promise.all([boot(), boot(), bench.boot({}, bench.driver, 'ns')]);
    const claims = bench.residue().claims;
    expect(new Set(claims.map((line) => line.split(' ')[0])).size).toBe(3);
    for (const cell of cells) cell.kill('done');
    await Promise.all(cells.map((cell) => cell.ended));
  });

  it('dies with the process that booted it, and sweeps leave nothing once the last of it is taken away', async () => {
    const support = new URL('../../../test/support/', import.meta.url).pathname;
    const program = `
      import { openCellBench, benchHarness } from ${JSON.stringify(`${support}cell-bench.ts`)};
      import { setHarness } from ${JSON.stringify(`${support}cell-rootfs.ts`)};
      const bench = openCellBench(JSON.parse(process.argv[1]));
      setHarness(bench.rootfs, benchHarness(4));
      const cell = await bench.boot({}, bench.driver, 'gvisor');
      cell.run('say(1)');
      await cell.heard();
      console.log(bench.home);
    `;
    const options = {
      instance: bench.instance,
      acceptedRisks: ['scratch-inodes-unlimited'],
      runDirectory: bench.runDirectory,
    };
    const owner = spawn(process.execPath, ['--input-type=module', '-e', program, JSON.stringify(options)], {
      cwd: import.meta.dirname,
      env: { PATH: '/usr/bin:/bin' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(owner.stdout, 'data');
    expect(bench.residue().processes.length).toBeGreaterThan(3);
    owner.kill('SIGKILL');
    await once(owner, 'exit');
    expect(await eventually(() => bench.residue().processes.length === 0)).toBe(true);
    // The last of its processes may be dead and not yet taken away: its id is given to nobody until then.
    for (let left = 100; left > 0 && bench.residue().claims.length > 0; left--) {
      await bench.driver.sweep();
      await sleep(50);
    }
    expect(bench.residue().claims).toEqual([]);
  });

  it('comes up as one of ten at once', async () => {
    const ids = Array.from({ length: 10 }, newCellId);
    const cells = await Promise.all(ids.map(() => boot({ memoryBytes: 96 * MiB })));
    for (const cell of cells) cell.run('say(1)');
    expect(await Promise.all(cells.map((cell) => cell.heard()))).toEqual(Array(10).fill(1));
    for (const cell of cells) cell.kill('done');
    expect((await Promise.all(cells.map((cell) => cell.ended))).every(({ error }) => error === undefined)).toBe(true);
  });
});
