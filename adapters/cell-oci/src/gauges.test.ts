import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { CellGauges, SweepReport } from '@glovebox/cell';
import { defaultClaimsDirectory, formatOwnedName, openUidClaims, readOwnMark } from '@glovebox/cell/host';
import { newCellId, newInstanceId } from '@glovebox/contract';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { eventually, openCellBench } from '../../../test/support/cell-bench.ts';
import { readHierarchies } from './cgroup-hierarchies.ts';
import { sweepHost } from './sweep.ts';

const bench = openCellBench();
const children: ChildProcess[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
  await bench.settle();
  await bench.driver.sweep();
  expect(await bench.driver.gauges()).toEqual(none);
});
afterAll(() => bench.remove());

const none: CellGauges = {
  cells: 0,
  processes: 0,
  cgroups: 0,
  mounts: 0,
  namespaces: 0,
  directories: 0,
  uidClaims: 0,
};

/** The same counts by the other way of looking, of the tests: namespaces and mounts as seen from ours. */
function counted(): Omit<CellGauges, 'cells'> {
  const { processes, cgroups, directories, claims, namespaces } = bench.residue();
  const own = new Set(readdirSync('/proc/self/ns').map((kind) => readlinkSync(`/proc/self/ns/${kind}`)));
  const foreign = namespaces.filter((namespace) => !own.has(namespace));
  const pids = processes.map((line) => line.split(' ')[0] ?? '');
  const tables = new Map(
    pids.map((pid) => [readlinkSync(`/proc/${pid}/ns/mnt`), readFileSync(`/proc/${pid}/mountinfo`, 'utf8')] as const),
  );
  const mounts = [...tables.entries()].filter(([namespace]) => foreign.includes(namespace));
  return {
    processes: processes.length,
    cgroups: cgroups.length,
    directories: directories.length,
    uidClaims: claims.length,
    namespaces: foreign.length,
    mounts: mounts.reduce((sum, [, table]) => sum + table.trimEnd().split('\n').length, 0),
  };
}

describe('gauges', () => {
  it.each(['crun', 'runc'] as const)('agree with another way of looking while cells live (%s)', async (runtime) => {
    const driver = bench.open({ runtime });
    for (let i = 0; i < 2; i++) {
      const cell = await bench.boot({}, driver);
      cell.run('say(1)');
      expect(await cell.heard()).toBe(1);
    }
    // Of another driver of the same instance: whoever booted them.
    const gauges = await bench.driver.gauges();
    expect(gauges).toEqual({ cells: 2, ...counted() });
    expect(gauges.processes).toBeGreaterThanOrEqual(6);
    expect(gauges).toMatchObject({ directories: 2, uidClaims: 2 });
    // Two pid, mount, network, ipc, host name, user and cgroup namespaces at least.
    expect(gauges.namespaces).toBeGreaterThanOrEqual(14);
  });

  it('know the namespaces that another program of this host knows', async () => {
    const cell = await bench.boot();
    cell.run('say(process.pid)');
    await cell.heard();
    const pids = new Set(bench.residue().processes.map((line) => Number(line.split(' ')[0])));
    const listed = execFileSync('lsns', ['--json', '--output', 'NS,PID'], { encoding: 'utf8' });
    // It names the lowest pid in each: one of a cell, where no other process is in it.
    const { namespaces } = JSON.parse(listed) as { namespaces: { pid: number }[] };
    const ofCell = namespaces.filter(({ pid }) => pids.has(pid));
    expect((await bench.driver.gauges()).namespaces).toBe(ofCell.length);
  });

  it('do not count what another instance holds', async () => {
    await bench.boot();
    const other = bench.open({ instance: newInstanceId(), runDirectory: join(bench.home, 'other') });
    expect(await other.gauges()).toEqual(none);
  });

  it('count a cell whose claim has a keeper for its own instance alone, and its processes too', async () => {
    const claims = openUidClaims(defaultClaimsDirectory);
    const theirs = claims.claim(newCellId(), readOwnMark(newInstanceId()), 'keeper');
    const ours = claims.claim(newCellId(), readOwnMark(bench.instance), 'keeper');
    try {
      for (const uid of [theirs.rootId, theirs.cellId])
        children.push(spawn('/bin/sleep', ['60'], { stdio: 'ignore', uid, gid: uid }));
      const started = (): boolean =>
        children.every(({ pid }) => readFileSync(`/proc/${pid}/comm`, 'utf8') === 'sleep\n');
      expect(await eventually(started)).toBe(true);
      expect(await bench.driver.gauges()).toEqual({ ...none, cells: 1, uidClaims: 1 });
      claims.release(ours);
      expect(await bench.driver.gauges()).toEqual(none);
      // Without the claim nobody else can be told to have them.
      claims.release(theirs);
      expect((await bench.driver.gauges()).processes).toBe(2);
    } finally {
      for (const claim of [ours, theirs]) claims.release(claim);
    }
  });

  it('go with a sweep that leaves what has a keeper alone, and tells of it where its owner does not live', async () => {
    const claims = openUidClaims(join(bench.home, 'claims'));
    const sweep = (): Promise<SweepReport> =>
      sweepHost({
        runDirectory: bench.runDirectory,
        hierarchies: { ...readHierarchies(), all: [] },
        claims,
        isOwn: () => false,
        isLost: () => false,
      });
    const mark = readOwnMark(newInstanceId());
    const held = claims.claim(newCellId(), mark, 'keeper');
    expect(await sweep()).toMatchObject({ removed: { uidClaims: 0 }, unknown: 0 });
    const left = claims.claim(newCellId(), { ...mark, owner: { ...mark.owner, startTicks: '1' } }, 'keeper');
    expect(await sweep()).toMatchObject({ removed: { uidClaims: 0 }, unknown: 1 });
    expect(claims.list().map(({ text }) => text)).toEqual(expect.arrayContaining([held.name, left.name]));
    // Of one without a keeper the owner's life decides alone.
    const unkept = claims.claim(newCellId(), { ...mark, owner: { ...mark.owner, startTicks: '1' } });
    expect(await sweep()).toMatchObject({ removed: { uidClaims: 1 }, unknown: 1 });
    expect(claims.list().map(({ text }) => text)).not.toContain(unkept.name);
  });

  it('are read within 20 ms where there is no cell', async () => {
    const times: number[] = [];
    for (let i = 0; i < 9; i++) {
      const started = performance.now();
      expect(await bench.driver.gauges()).toEqual(none);
      times.push(performance.now() - started);
    }
    expect(times.toSorted((a, b) => a - b)[2]).toBeLessThan(20);
  });

  it('never fail for what vanishes while they look', async () => {
    let looking = true;
    const looks = (async () => {
      let most = 0;
      for (; looking; await new Promise(setImmediate)) most = Math.max(most, (await bench.driver.gauges()).cells);
      return most;
    })();
    await Promise.all(
      Array.from({ length: 10 }, async () => {
        const cell = await bench.boot();
        cell.kill('done');
        expect(await cell.ended).toMatchObject({ cause: 'done' });
      }),
    );
    looking = false;
    expect(await looks).toBeGreaterThanOrEqual(2);
  });

  it('count what a dead owner left, each kind by itself', async () => {
    const mark = readOwnMark(bench.instance);
    const dead = { ...mark, owner: { ...mark.owner, startTicks: '1' } };
    const pids = readHierarchies().of('pids')?.mountPoint ?? '';
    const places = {
      directories: (name: string) => join(bench.runDirectory, 'cells', name),
      cgroups: (name: string) => join(pids, 'glovebox', name),
      uidClaims: (name: string) => join('/run/glovebox-uids', '16001', name),
    };
    for (const [kind, place] of Object.entries(places)) {
      mkdirSync(place(formatOwnedName(newCellId(), dead)), { recursive: true, mode: 0o700 });
      expect(await bench.driver.gauges()).toEqual({ ...none, cells: 1, [kind]: 1 });
      expect((await bench.driver.sweep()).removed.cells).toBe(1);
    }
  });

  it('count what has no legible name, and a cell’s uid that nobody has claimed', async () => {
    const folder = join(readHierarchies().of('pids')?.mountPoint ?? '', 'glovebox', 'something-else');
    mkdirSync(folder, { recursive: true });
    try {
      expect(await bench.driver.gauges()).toEqual({ ...none, cells: 1, cgroups: 1 });
    } finally {
      rmdirSync(folder);
    }
    const holder = spawn('/bin/sleep', ['60'], { stdio: 'ignore', uid: 0x7000_0000 + 2 * 16_002 + 1 });
    children.push(holder);
    expect(await eventually(() => readFileSync(`/proc/${holder.pid}/comm`, 'utf8') === 'sleep\n')).toBe(true);
    expect((await bench.driver.gauges()).processes).toBe(1);
  });

  it('say that they cannot tell, and not none, where a place cannot be looked at', async () => {
    const folder = join(bench.runDirectory, 'cells');
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(bench.runDirectory, { recursive: true });
    const file = bench.open({ runDirectory: join(bench.rootfs, 'usr/bin/node') });
    await expect(file.gauges()).rejects.toMatchObject({ code: 'DATA_DIR_UNUSABLE' });
  });
});
