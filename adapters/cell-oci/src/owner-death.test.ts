import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { formatOwnedName, type OwnerMark, readOwnMark } from '@glovebox/cell/host';
import { newCellId, newInstanceId } from '@glovebox/contract';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { eventually, openCellBench } from '../../../test/support/cell-bench.ts';
import { readResidue } from '../../../test/support/residue.ts';
import { holdCgroup } from '../../../test/support/stuck-cgroup.ts';
import { readHierarchies } from './cgroup-hierarchies.ts';

const bench = openCellBench();
const clean = bench.residue();
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) await kill(child);
  await bench.settle();
  await bench.driver.sweep();
  expect(bench.residue()).toEqual(clean);
});
afterAll(() => bench.remove());

/** Another process that boots cells over the same directories, and tells when each is in its busy loop. */
const owner = `
  import { createOciDriver } from '@glovebox/cell-oci';
  import { newCellId } from '@glovebox/contract';
  const { instance, runDirectory, rootfs, plan, runtime, count } = JSON.parse(process.argv[1]);
  const driver = createOciDriver({ instance, runDirectory, rootfsOf: () => rootfs, runtime });
  for (let i = 0; i < count; i++) {
    const cell = await driver.boot(plan, newCellId());
    cell.channel.write("for (const s of ['SIGTERM', 'SIGHUP', 'SIGINT']) process.on(s, () => {}); require('node:fs').writeSync(3, 'on'); for (;;) ;\\0");
    cell.channel.once('data', () => console.log('busy'));
  }
  setInterval(() => {}, 1000);
`;

async function startOwner(runtime: 'crun' | 'runc', count: number): Promise<ChildProcess> {
  const given = {
    instance: bench.instance,
    runDirectory: bench.runDirectory,
    rootfs: bench.rootfs,
    plan: bench.plan(),
    runtime,
    count,
  };
  const child = spawn(process.execPath, ['--input-type=module', '-e', owner, JSON.stringify(given)], {
    cwd: import.meta.dirname,
    env: { PATH: '/usr/bin:/bin' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  let heard = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    heard += chunk.toString();
  });
  expect(await eventually(() => heard.split('busy').length > count)).toBe(true);
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

describe.each(['crun', 'runc'] as const)('when the owner of cells under %s is killed', (runtime) => {
  it('every process of them dies with it, busy or not, and a sweep leaves nothing', async () => {
    const child = await startOwner(runtime, 2);
    expect(bench.residue().processes.length).toBeGreaterThanOrEqual(6);
    await kill(child);
    // Nobody sweeps yet: it is the kernel that kills them.
    expect(await eventually(() => bench.residue().processes.length === 0)).toBe(true);
    expect(bench.residue().namespaces).toEqual([]);
    expect(bench.residue().claims).toHaveLength(2);

    const report = await bench.driver.sweep();
    expect(report.removed).toMatchObject({ cells: 2, directories: 2, uidClaims: 2 });
    expect(report.removed.cgroups).toBeGreaterThanOrEqual(8);
    expect(bench.residue()).toEqual(clean);
  });
});

it('leaves nothing when the owner is killed at any moment of a boot', async () => {
  for (const delayMs of [0, 8, 20, 40, 70, 110]) {
    const child = spawn(
      process.execPath,
      [
        '--input-type=module',
        '-e',
        `${owner.replace('const cell =', "console.log('start'); const cell =")}`,
        JSON.stringify({
          instance: bench.instance,
          runDirectory: bench.runDirectory,
          rootfs: bench.rootfs,
          plan: bench.plan(),
          count: 1,
        }),
      ],
      { cwd: import.meta.dirname, env: { PATH: '/usr/bin:/bin' }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    children.push(child);
    await once(child.stdout as NodeJS.ReadableStream, 'data');
    await new Promise((resolve) => setTimeout(resolve, delayMs));
    await kill(child);
    expect(await eventually(() => bench.residue().processes.length === 0)).toBe(true);
    await bench.driver.sweep();
    expect(bench.residue()).toEqual(clean);
  }
});

describe('while the owner of a cell is stopped', () => {
  const stopped = `
    import { openCellBench } from ${JSON.stringify(new URL('../../../test/support/cell-bench.ts', import.meta.url).pathname)};
    const bench = openCellBench();
    const cell = await bench.boot(JSON.parse(process.argv[1]));
    cell.run('say(1)');
    await cell.heard();
    await cell.dispatch({ cpu: 1, deadlineMs: 300 });
    cell.run(process.argv[2]);
    console.log('ready');
    const { cause, exit } = await cell.ended;
    console.log(JSON.stringify({ cause, exit }));
    bench.remove();
    process.exit(0);
  `;

  /** Stop an owner once its cell is on its way, do `meanwhile`, let it go on, and give what it says of the end. */
  async function stopWhile(code: string, meanwhile: (instance: string) => Promise<void>): Promise<unknown> {
    const program = stopped.replace("console.log('ready')", "console.log('ready ' + bench.instance)");
    const child = spawn(
      process.execPath,
      ['--input-type=module', '-e', program, JSON.stringify({ lifetimeMs: 1000, cpu: 1, bootCpu: 1 }), code],
      { cwd: import.meta.dirname, env: { PATH: '/usr/bin:/bin' }, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    children.push(child);
    let heard = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      heard += chunk.toString();
    });
    expect(await eventually(() => heard.includes('ready'))).toBe(true);
    child.kill('SIGSTOP');
    await meanwhile(/ins_\w+/.exec(heard)?.[0] ?? '');
    child.kill('SIGCONT');
    expect(await eventually(() => heard.includes('cause'))).toBe(true);
    return JSON.parse(heard.split('\n')[1] ?? '');
  }

  it('a cell that waits is killed at its deadline as soon as the owner goes on', async () => {
    const end = await stopWhile("require('node:fs').readSync(3, Buffer.alloc(1))", () => sleep(1500));
    expect(end).toMatchObject({ cause: 'deadline', exit: { signal: 'SIGKILL' } });
  });

  it('a busy one dies by its limit of processor time, without the owner', async () => {
    const end = await stopWhile('for (;;) ;', async (instance) => {
      const busy = () => readResidue({ instance }).processes.filter((line) => line.includes('node-Main'));
      expect(busy()).toHaveLength(1);
      expect(await eventually(() => busy().length === 0, 40_000)).toBe(true);
    });
    expect(end).toMatchObject({ exit: { signal: 'SIGKILL' } });
  });
});

describe('a sweep', () => {
  it('leaves the cells of a live owner alone and counts them as unknown', async () => {
    await startOwner('crun', 1);
    const before = bench.residue();
    const report = await bench.driver.sweep();
    expect(report.removed).toEqual({ cells: 0, cgroups: 0, directories: 0, uidClaims: 0, processes: 0 });
    expect(report.unknown).toBeGreaterThanOrEqual(1);
    expect(bench.residue()).toEqual(before);
  });

  it('leaves the live cells of its own process alone, whichever driver booted them', async () => {
    const cell = await bench.boot();
    const other = bench.open();
    await other.sweep();
    cell.run('say("alive")');
    expect(await cell.heard()).toBe('alive');
    cell.kill('done');
    await cell.ended;
  });

  it('leaves alone an owner of another pid namespace, which cannot be judged, and removes a dead one of ours', async () => {
    const mark = readOwnMark(bench.instance);
    const dead: OwnerMark = { ...mark, owner: { ...mark.owner, startTicks: '1' } };
    const foreign: OwnerMark = { ...dead, pidNamespace: '4026599999' };
    const names = [dead, foreign].map((one) => formatOwnedName(newCellId(), one));
    plant(names);
    const report = await bench.driver.sweep();
    expect(report.removed).toMatchObject({ cells: 1, cgroups: 1, directories: 1, uidClaims: 1 });
    expect(report.unknown).toBeGreaterThanOrEqual(1);
    expect(bench.residue().claims.map((line) => line.split(' ')[1])).toEqual([names[1]]);
    expect(bench.residue().directories).toEqual([names[1]]);
    uproot([names[1] ?? '']);
  });

  it('takes a zombie for dead and another process with the same pid too', async () => {
    const mark = readOwnMark(newInstanceId());
    // A shell that never waits keeps its ended child a zombie.
    const parent = spawn('/bin/sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 60'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(parent);
    const [chunk] = (await once(parent.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
    const pid = Number(chunk.toString());
    const stat = (): string[] =>
      readFileSync(`/proc/${pid}/stat`, 'latin1')
        .replace(/^.*\) /, '')
        .split(' ');
    expect(await eventually(() => stat()[0] === 'Z')).toBe(true);
    const zombie: OwnerMark = { ...mark, owner: { ...mark.owner, pid, startTicks: stat()[19] ?? '' } };
    const name = formatOwnedName(newCellId(), zombie);
    plant([name]);
    expect((await bench.driver.sweep()).removed).toMatchObject({ cells: 1, directories: 1, uidClaims: 1 });
  });

  it('leaves what has no legible name', async () => {
    const folder = join(bench.runDirectory, 'cells', 'something-else');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'file'), '');
    const report = await bench.driver.sweep();
    expect(report.unknown).toBeGreaterThanOrEqual(1);
    expect(readdirSync(folder)).toEqual(['file']);
    rmSync(folder, { recursive: true });
  });

  it('does not free a uid that a process still has, and frees it when the process is gone', async () => {
    const mark = readOwnMark(bench.instance);
    const name = formatOwnedName(newCellId(), { ...mark, owner: { ...mark.owner, startTicks: '1' } });
    plant([name]);
    // In no cgroup of ours: the uid alone tells.
    const holder = spawn('/bin/sleep', ['60'], { stdio: 'ignore', uid: 0x7000_0000 + 2 * 16_000 + 1 });
    children.push(holder);
    const report = await bench.driver.sweep();
    expect(report.removed).toMatchObject({ cgroups: 1, directories: 1, uidClaims: 0 });
    expect(report.unknown).toBeGreaterThanOrEqual(1);
    expect(bench.residue().claims).toEqual([`16000 ${name}`]);
    await kill(holder);
    expect((await bench.driver.sweep()).removed).toMatchObject({ uidClaims: 1 });
  });

  it('keeps directory and uid of a cell, and counts it as unknown, while the kernel keeps a cgroup of it', async () => {
    const mark = readOwnMark(bench.instance);
    const dead = { ...mark, owner: { ...mark.owner, startTicks: '1' } };
    const [stuck = '', other = ''] = [newCellId(), newCellId()].map((id) => formatOwnedName(id, dead));
    plant([stuck, other]);
    const release = holdCgroup(join(readHierarchies().of('pids')?.mountPoint ?? '', 'glovebox', stuck));
    try {
      const report = await bench.driver.sweep();
      expect(report.removed).toMatchObject({ cells: 1, cgroups: 1, directories: 1, uidClaims: 1 });
      expect(report.unknown).toBeGreaterThanOrEqual(1);
      expect(bench.residue().directories).toEqual([stuck]);
      expect(bench.residue().claims).toEqual([`16000 ${stuck}`]);
    } finally {
      release();
    }
    expect((await bench.driver.sweep()).removed).toMatchObject({ cells: 1, cgroups: 1, directories: 1, uidClaims: 1 });
  });

  it('kills a process that a dead owner left in a cgroup', async () => {
    const mark = readOwnMark(bench.instance);
    const name = formatOwnedName(newCellId(), { ...mark, owner: { ...mark.owner, startTicks: '1' } });
    plant([name]);
    const orphan = spawn('/bin/sleep', ['60'], { stdio: 'ignore' });
    children.push(orphan);
    const pids = readHierarchies().of('pids')?.mountPoint ?? '';
    writeFileSync(join(pids, 'glovebox', name, 'cgroup.procs'), String(orphan.pid));
    const report = await bench.driver.sweep();
    expect(report.removed).toMatchObject({ processes: 1, cells: 1, cgroups: 1 });
    if (orphan.signalCode === null) await once(orphan, 'exit');
    expect(orphan.signalCode).toBe('SIGKILL');
  });
});

const claimsDirectory = '/run/glovebox-uids';

/** What a dead owner may leave: a directory, a claim, a cgroup. */
function plant(names: readonly string[]): void {
  const pids = readHierarchies().of('pids')?.mountPoint ?? '';
  mkdirSync(claimsDirectory, { recursive: true, mode: 0o700 });
  for (const [index, name] of names.entries()) {
    mkdirSync(join(bench.runDirectory, 'cells', name), { recursive: true });
    mkdirSync(join(claimsDirectory, String(16_000 + index), name), { recursive: true });
    mkdirSync(join(pids, 'glovebox', name), { recursive: true });
  }
}

/** Not the driver's to remove, so the test does it. */
function uproot(names: readonly string[]): void {
  const pids = readHierarchies().of('pids')?.mountPoint ?? '';
  for (const slot of readdirSync(claimsDirectory)) {
    const path = join(claimsDirectory, slot);
    if (names.includes(readdirSync(path).join())) rmSync(path, { recursive: true });
  }
  for (const name of names) {
    rmSync(join(bench.runDirectory, 'cells', name), { recursive: true });
    rmdirSync(join(pids, 'glovebox', name));
  }
}
