import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatOwnedName, readOwnMark } from '@glovebox/cell/host';
import { newCellId } from '@glovebox/contract';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { eventually, openCellBench } from '../../../test/support/cell-bench.ts';
import { findLaunchTools, launch, release } from './launch.ts';

const bench = openCellBench();
const clean = bench.residue();
const scratch = mkdtempSync(join(tmpdir(), 'glovebox-callers-'));
afterEach(async () => {
  const left = bench.residue();
  await bench.settle();
  expect(left).toEqual(clean);
});
afterAll(() => {
  bench.remove();
  rmSync(scratch, { recursive: true, force: true });
});

/**
 * Run a program with `bench` in scope, as whatever `prefix` makes of a process, and give what it prints.
 *
 * @param prefix words before the command, such as those of nice.
 */
function asCaller(prefix: readonly string[], program: string): unknown {
  const path = join(scratch, 'caller.ts');
  const support = new URL('../../../test/support/cell-bench.ts', import.meta.url).pathname;
  writeFileSync(
    path,
    `import * as fs from 'node:fs';
     import { openCellBench } from ${JSON.stringify(support)};
     const bench = openCellBench({
       weakenForTest: (spec) => ({
         ...spec,
         process: {
           ...spec.process,
           args: spec.process.args.filter((arg) => arg !== '--permission' && !arg.startsWith('--allow-')),
         },
       }),
     });
     const tell = (value) => console.log(JSON.stringify(value));
     const hogs = [];
     const takeDescriptors = () => { try { for (;;) hogs.push(fs.openSync('/dev/null', 'r')); } catch {} };
     const giveDescriptors = (count) => { for (const fd of hogs.splice(0, count)) fs.closeSync(fd); };
     const ask = async (code) => {
       const cell = await bench.boot();
       cell.run(code);
       const heard = await cell.heard();
       cell.kill('done');
       await cell.ended;
       return heard;
     };
     ${program}
     bench.remove();
     process.exit(0);`,
  );
  const [command = '', ...args] = [...prefix, process.execPath, path];
  const output = execFileSync(command, args, {
    cwd: import.meta.dirname,
    env: { PATH: '/usr/sbin:/usr/bin:/bin' },
    encoding: 'utf8',
  });
  return JSON.parse(output);
}

const withFiles = (soft: number) => ['sh', '-c', `ulimit -Sn ${soft}; exec "$@"`, 'sh'];

describe('a caller whose descriptors are used up', () => {
  it('is refused a boot with an error, lives on, and boots when there are some again', () => {
    const told = asCaller(
      withFiles(100),
      `await ask('say(1)');
       takeDescriptors();
       // Enough to write the bundle, too few for the streams of a child.
       giveDescriptors(4);
       const refused = await ask('say(1)').catch((error) => error.code);
       await new Promise((resolve) => setTimeout(resolve, 50));
       giveDescriptors(100);
       tell([refused, await ask('say(2)'), bench.residue()]);`,
    );
    const nothing = { processes: [], cgroups: [], mounts: [], namespaces: [], directories: [], claims: [] };
    expect(told).toEqual(['HOST_UNSUPPORTED', 2, nothing]);
  });

  it('does not take a cell for dead of which nothing can be read, and does when it is seen to be', () => {
    const told = asCaller(
      withFiles(100),
      `const { awaitEmpty } = await import(${JSON.stringify(join(import.meta.dirname, 'dismantle.ts'))});
       const { listCellNames, removeCgroups } = await import(${JSON.stringify(join(import.meta.dirname, 'cell-cgroup.ts'))});
       const { readHierarchies } = await import(${JSON.stringify(join(import.meta.dirname, 'cgroup-hierarchies.ts'))});
       const hierarchies = readHierarchies();
       const cell = await bench.boot();
       cell.run('say(1)');
       await cell.heard();
       const [name] = bench.residue().directories;
       takeDescriptors();
       let isEmpty = false;
       const empty = awaitEmpty({ hierarchies, name }).then(() => { isEmpty = true; });
       const { left } = removeCgroups(hierarchies, name);
       let listed;
       try { listed = listCellNames(hierarchies); } catch (error) { listed = error.code; }
       await new Promise((resolve) => setTimeout(resolve, 100));
       const early = isEmpty;
       giveDescriptors(100);
       cell.kill('done');
       await empty;
       const end = await cell.ended;
       tell([early, left > 0, listed, end.cause, end.error ?? null, bench.residue().cgroups]);`,
    );
    expect(told).toEqual([false, true, 'CGROUP_UNAVAILABLE', 'done', null, []]);
  });
});

describe('of its caller a cell gets', () => {
  const scheduling = `tell(await ask("const stat = require('node:fs').readFileSync('/proc/self/stat', 'utf8').split(') ')[1].split(' '); say({ nice: stat[16], policy: stat[38] })"));`;

  it.each([
    ['a niceness below 0', ['nice', '-n', '-15']],
    ['a real-time policy', ['chrt', '--fifo', '5']],
    ['both', ['nice', '-n', '-5', 'chrt', '--rr', '5']],
  ])('not %s', (_, prefix) => {
    expect(asCaller(prefix, scheduling)).toEqual({ nice: '0', policy: '0' });
  });

  it('a niceness that puts it behind others', () => {
    expect(asCaller(['nice', '-n', '5'], scheduling)).toEqual({ nice: '5', policy: '0' });
  });

  it('no descriptor, working directory, environment, group or mask', () => {
    const prefix = ['sh', '-c', 'umask 0; exec 7</etc; SECRET=canary; export SECRET; cd /root; exec "$@"', 'sh'];
    const told = asCaller(
      ['setpriv', '--groups', '4,27', 'bash', '--norc', '-c', 'exec 111</etc/shadow; exec "$@"', 'bash', ...prefix],
      `tell(await ask(\`
         const fs = require('node:fs');
         const targets = fs.readdirSync('/proc/self/fd').map((fd) => { try { return fs.readlinkSync('/proc/self/fd/' + fd); } catch { return ''; } });
         const groups = fs.readFileSync('/proc/self/status', 'utf8').match(/^Groups:(.*)$/m)[1].trim();
         say({ files: targets.filter((target) => target.startsWith('/') && target !== '/dev/null'), cwd: process.cwd(), secret: process.env.SECRET ?? null, groups, mask: process.umask() });
       \`));`,
    );
    expect(told).toEqual({ files: [], cwd: '/', secret: null, groups: '', mask: 0o077 });
  });
});

it('mounts nothing that its caller sees, also where mounts spread', () => {
  const told = asCaller(
    ['unshare', '--mount', '--propagation', 'shared'],
    `const mounts = () => fs.readFileSync('/proc/self/mountinfo', 'utf8');
     const before = mounts();
     const cell = await bench.boot();
     cell.run('say(1)');
     const heard = await cell.heard();
     const spread = before.includes(' shared:');
     const same = mounts() === before;
     cell.kill('done');
     await cell.ended;
     tell({ heard, spread, same, after: mounts() === before });`,
  );
  expect(told).toEqual({ heard: 1, spread: true, same: true, after: true });
});

it('leaves a key that interrupts at a terminal to its caller alone', async () => {
  const path = join(scratch, 'at-terminal.ts');
  const support = new URL('../../../test/support/cell-bench.ts', import.meta.url).pathname;
  writeFileSync(
    path,
    `import { openCellBench } from ${JSON.stringify(support)};
     const bench = openCellBench();
     const cell = await bench.boot();
     cell.run('say(1)');
     await cell.heard();
     process.once('SIGINT', async () => {
       // The signal would have arrived in the cell by then.
       await new Promise((resolve) => setTimeout(resolve, 500));
       cell.run('setTimeout(() => say("alive"), 300); leave()');
       const heard = await Promise.race([cell.heard(), cell.ended]);
       cell.kill('cancelled');
       const { cause } = await cell.ended;
       bench.remove();
       console.log(JSON.stringify({ terminal: process.stdin.isTTY, heard, cause }));
       process.exit(0);
     });
     console.log('ready');
     setInterval(() => {}, 1000);`,
  );
  const caller = spawn('script', ['--quiet', '--flush', '--command', `'${process.execPath}' '${path}'`, '/dev/null'], {
    cwd: import.meta.dirname,
    env: { PATH: '/usr/bin:/bin', SHELL: '/bin/sh', NO_COLOR: '1' },
  });
  let output = '';
  caller.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  const ended = once(caller, 'close');
  try {
    expect(await eventually(() => output.includes('ready'))).toBe(true);
    caller.stdin.write('\u0003');
    await ended;
  } finally {
    caller.kill('SIGKILL');
  }
  expect(JSON.parse(/\{.*\}/.exec(output)?.[0] ?? '{}')).toEqual({
    terminal: true,
    heard: 'alive',
    cause: 'cancelled',
  });
});

it('does not boot a second cell of the same id, and leaves the first one alone', async () => {
  const first = await bench.boot();
  await expect(bench.driver.boot(bench.plan(), first.id)).rejects.toMatchObject({ code: 'PLAN_REFUSED' });
  first.run('say("alive")');
  expect(await first.heard()).toBe('alive');
  expect(bench.residue().claims).toHaveLength(1);
  first.kill('done');
  expect(await first.ended).toMatchObject({ cause: 'done' });
});

describe('a directory of bundles in which another could put his own', () => {
  const home = join(scratch, 'open');
  const run = join(home, 'run');
  const cells = join(run, 'cells');
  const elsewhere = join(scratch, 'elsewhere');
  it.each<[string, () => void]>([
    ['may be written by others', () => chmodSync(cells, 0o777)],
    ['may be written by a group', () => chmodSync(cells, 0o720)],
    ['is of another uid', () => chownSync(cells, 65534, 65534)],
    ['lies where others may write', () => chmodSync(run, 0o1777)],
    [
      'is a link',
      () => {
        renameSync(cells, elsewhere);
        symlinkSync(elsewhere, cells);
      },
    ],
  ])('is refused when it %s, and taken when it is root’s alone', async (_, spoil) => {
    for (const path of [home, elsewhere]) rmSync(path, { recursive: true, force: true });
    mkdirSync(cells, { recursive: true, mode: 0o700 });
    const driver = bench.open({ runDirectory: run });
    const cell = await driver.boot(bench.plan(), newCellId());
    cell.kill('done');
    await cell.ended;
    spoil();
    await expect(driver.boot(bench.plan(), newCellId())).rejects.toMatchObject({ code: 'DATA_DIR_UNUSABLE' });
    expect(readdirSync(cells)).toEqual([]);
  });
});

it('works where the data directory has a name of every kind of character', async () => {
  const home = join(scratch, 'a b,c:d\\040e\'f"g\th\ni%n#j=ü', 'k'.repeat(200), 'l'.repeat(200));
  mkdirSync(home, { recursive: true, mode: 0o700 });
  renameSync(bench.rootfs, join(home, 'rootfs'));
  try {
    for (const runtime of ['crun', 'runc']) {
      const driver = bench.open({ runtime, runDirectory: join(home, 'run'), rootfsOf: () => join(home, 'rootfs') });
      const cell = await bench.boot({}, driver);
      cell.run('say("up")');
      expect(await cell.heard()).toBe('up');
      cell.kill('done');
      expect(await cell.ended).toMatchObject({ cause: 'done' });
      expect(readdirSync(join(home, 'run', 'cells'))).toEqual([]);
    }
  } finally {
    renameSync(join(home, 'rootfs'), bench.rootfs);
  }
});

it('sweeps the rest where one directory of a dead owner cannot be removed', async () => {
  const mark = readOwnMark(bench.instance);
  const dead = { ...mark, owner: { ...mark.owner, startTicks: '1' } };
  const [stuck = '', other = ''] = [newCellId(), newCellId()]
    .sort()
    .map((id) => join(bench.runDirectory, 'cells', formatOwnedName(id, dead)));
  for (const path of [stuck, other]) mkdirSync(path, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'glovebox-test', stuck]);
  try {
    const report = await bench.driver.sweep();
    expect(report.removed.directories).toBe(1);
    expect(report.unknown).toBeGreaterThanOrEqual(1);
    expect(bench.residue().directories.map((name) => join(bench.runDirectory, 'cells', name))).toEqual([stuck]);
  } finally {
    execFileSync('umount', [stuck]);
  }
  expect((await bench.driver.sweep()).removed.directories).toBe(1);
  rmdirSync(join(bench.runDirectory, 'cells'));
});

it('tells what of its own it could not remove, and sweeps that and none of its live cells', async () => {
  const [cell, other] = [await bench.boot(), await bench.boot()];
  const [name] = bench.residue().directories.filter((text) => text.includes(cell.id));
  const stuck = join(bench.runDirectory, 'cells', name ?? '', 'stuck');
  mkdirSync(stuck);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'glovebox-test', stuck]);
  try {
    cell.kill('done');
    expect(await cell.ended).toMatchObject({ cause: 'done', error: { code: 'CELL_LOST' } });
    expect(bench.residue().claims).toHaveLength(2);
  } finally {
    execFileSync('umount', [stuck]);
  }
  expect((await bench.driver.sweep()).removed).toMatchObject({ directories: 1, uidClaims: 1 });
  expect(bench.residue().directories).toHaveLength(1);
  other.run('say("alive")');
  expect(await other.heard()).toBe('alive');
  other.kill('done');
  await other.ended;
});

it('gives up on a launcher that does not come up, also when the clock of the day is set back', async () => {
  const mount = join(scratch, 'sleeping-mount');
  writeFileSync(mount, '#!/bin/sh\nsleep 1000\n', { mode: 0o755 });
  const launched = launch({
    tools: { ...findLaunchTools(), mount },
    mountTable: '/dev/null',
    binds: [],
    joinFiles: [],
    runtimeArgv: ['/bin/true'],
    stdin: 'null',
  });
  const now = Date.now;
  const start = now();
  try {
    const refused = release(launched, 300);
    Date.now = () => start - 3_600_000;
    await expect(refused).rejects.toMatchObject({ code: 'RUNTIME_BROKEN' });
  } finally {
    Date.now = now;
    const gone = new Promise((resolve) => launched.child.once('exit', resolve));
    launched.child.kill('SIGKILL');
    await gone;
  }
});
