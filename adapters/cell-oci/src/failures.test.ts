import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newCellId } from '@glovebox/contract';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { openCellBench, testImage } from '../../../test/support/cell-bench.ts';
import { findProgram } from './host-program.ts';

const bench = openCellBench();
const clean = bench.residue();
const scratch = mkdtempSync(join(tmpdir(), 'glovebox-runtimes-'));
afterEach(async () => {
  const left = bench.residue();
  await bench.settle();
  expect(left).toEqual(clean);
});
afterAll(() => {
  bench.remove();
  rmSync(scratch, { recursive: true, force: true });
});

function fakeRuntime(name: string, script: string): string {
  const path = join(scratch, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

/** Answers the version like crun; does `then` when it is to run a cell. */
const afterVersion = (name: string, then: string): string =>
  fakeRuntime(name, `[ "$1" = --version ] && { echo 'crun version 1.8.1'; exit 0; }\n${then}`);

const bootWith = (runtime: string, bootDeadlineMs = 20_000) =>
  bench.open({ runtime, bootDeadlineMs, programDeadlineMs: 1000 }).boot(bench.plan(), newCellId());

describe('a boot is refused', () => {
  it.each([
    ['ends with an error', fakeRuntime('fails', 'exit 3'), 'RUNTIME_BROKEN'],
    ['hangs', fakeRuntime('hangs', 'sleep 1000'), 'RUNTIME_BROKEN'],
    ['is something else', fakeRuntime('other', 'echo something 1.0'), 'RUNTIME_BROKEN'],
    ['is not there', join(scratch, 'none'), 'RUNTIME_BROKEN'],
    ['is below a known floor', fakeRuntime('old-runc', "echo 'runc version 1.1.4'"), 'HOST_UNSUPPORTED'],
    ['does not tell its version', fakeRuntime('untold-runc', "echo 'runc version unknown'"), 'HOST_UNSUPPORTED'],
  ])('when the runtime %s', async (_, runtime, code) => {
    await expect(bootWith(runtime)).rejects.toMatchObject({ code });
  });

  it('when the runtime is no executable file', async () => {
    const path = join(scratch, 'plain');
    writeFileSync(path, 'crun version 1.8.1');
    await expect(bootWith(path)).rejects.toMatchObject({ code: 'RUNTIME_BROKEN' });
  });

  it('when the image is not there, and when it is no image', async () => {
    const empty = mkdtempSync(join(scratch, 'empty-'));
    for (const path of [join(scratch, 'nowhere'), empty]) {
      const driver = bench.open({ rootfsOf: () => path });
      await expect(driver.boot(bench.plan(), newCellId())).rejects.toMatchObject({ code: 'IMAGE_MISSING' });
    }
  });

  it('when the plan is over a ceiling, asks for what no plan can, or has another class', async () => {
    const plan = bench.plan();
    const bad: unknown[] = [
      { ...plan, limits: { ...plan.limits, pids: 100_000 } },
      { ...plan, limits: { ...plan.limits, memoryBytes: 2 ** 40 } },
      { ...plan, limits: { ...plan.limits, cpu: Number.NaN } },
      { ...plan, mounts: [{ source: '/', destination: '/host' }] },
      { ...plan, class: 'host' },
      { ...plan, image: '../../etc' },
    ];
    for (const one of bad) {
      await expect(bench.driver.boot(one as never, newCellId())).rejects.toMatchObject({ code: 'PLAN_REFUSED' });
    }
  });

  it('when the cell id would be another path', async () => {
    for (const id of ['../../escape', 'cell_x', '', 'cell_0123456789abcdefghjkmn/..']) {
      await expect(bench.driver.boot(bench.plan(), id as never)).rejects.toMatchObject({ code: 'PLAN_REFUSED' });
    }
  });

  it('when the run directory cannot be made', async () => {
    const blocked = join(scratch, 'file');
    writeFileSync(blocked, '');
    const driver = bench.open({ runDirectory: join(blocked, 'run') });
    await expect(driver.boot(bench.plan(), newCellId())).rejects.toMatchObject({ code: 'DATA_DIR_UNUSABLE' });
  });

  it('when the disk is full, and taken again when there is room', async () => {
    const disk = join(scratch, 'disk');
    mkdirSync(disk);
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k,nr_inodes=64', 'glovebox-test', disk]);
    try {
      const filler = join(disk, 'filler');
      writeFileSync(filler, Buffer.alloc(16_384));
      const driver = bench.open({ runDirectory: join(disk, 'run') });
      await expect(driver.boot(bench.plan(), newCellId())).rejects.toMatchObject({ code: 'DISK_FULL' });
      expect(existsSync(join(disk, 'run/cells')) ? readdirSync(join(disk, 'run/cells')) : []).toEqual([]);
      rmSync(filler);
      execFileSync('mount', ['-o', 'remount,size=1m', disk]);
      const cell = await driver.boot(bench.plan(), newCellId());
      cell.kill('done');
      await cell.ended;
    } finally {
      execFileSync('umount', [disk]);
    }
  });

  it('when a directory of claims could be written by others, and taken when it could not', async () => {
    const claimsDirectory = join(scratch, 'claims');
    mkdirSync(claimsDirectory);
    chmodSync(claimsDirectory, 0o777);
    const driver = bench.open({ claimsDirectory });
    await expect(driver.boot(bench.plan(), newCellId())).rejects.toMatchObject({ code: 'HOST_UNSUPPORTED' });
    chmodSync(claimsDirectory, 0o700);
    const cell = await driver.boot(bench.plan(), newCellId());
    cell.kill('done');
    await cell.ended;
  });

  it('by a process that is not root', () => {
    const program = `
      import { createOciDriver } from '@glovebox/cell-oci';
      import { newCellId, newInstanceId } from '@glovebox/contract';
      process.setuid(65534);
      const driver = createOciDriver({ instance: newInstanceId(), runDirectory: '/tmp/none', rootfsOf: () => '/' });
      const code = await driver.boot(JSON.parse(process.argv[1]), newCellId()).catch((error) => error.code);
      process.stdout.write(code + ' ' + (await driver.inspect()).facts.find(({ name }) => name === 'root').state);
    `;
    const plan = JSON.stringify(bench.plan());
    const output = execFileSync(process.execPath, ['--input-type=module', '-e', program, plan], {
      cwd: import.meta.dirname,
      env: { PATH: '/usr/bin:/bin' },
      encoding: 'utf8',
    });
    expect(output).toBe('PRIVILEGE_MISSING missing');
  });
});

describe('a cell ends with cause boot-failed', () => {
  it.each([
    ['ends without having made a container', afterVersion('no-container', 'exit 1'), 'RUNTIME_BROKEN'],
    ['ends well without having made a container', afterVersion('no-container-0', 'exit 0'), 'RUNTIME_BROKEN'],
    ['kills itself', afterVersion('suicide', 'kill -9 $$'), 'RUNTIME_BROKEN'],
  ])('when the runtime %s', async (_, runtime, code) => {
    const cell = await bootWith(runtime);
    expect(await cell.ended).toMatchObject({ cause: 'boot-failed', error: { code } });
  });

  it('when the runtime hangs with a child of its own, and nothing of it is left', async () => {
    const cell = await bootWith(afterVersion('hangs-later', 'trap "" TERM; sleep 1000 & sleep 1000'), 700);
    expect(await cell.ended).toMatchObject({ cause: 'boot-failed', error: { code: 'RUNTIME_BROKEN' } });
  });

  it('when the runtime does nothing but tell where it is, which is nowhere of its caller', async () => {
    const told = join(scratch, 'told');
    process.env.GLOVEBOX_TEST_CANARY = 'canary';
    try {
      const cell = await bootWith(afterVersion('tells', `{ pwd; env; } >'${told}'`));
      expect(await cell.ended).toMatchObject({ cause: 'boot-failed' });
    } finally {
      delete process.env.GLOVEBOX_TEST_CANARY;
    }
    const [cwd, ...environment] = readFileSync(told, 'utf8').trim().split('\n');
    expect(cwd).toBe('/');
    // PWD, OLDPWD, SHLVL and _ are the shell's.
    const names = environment.map((line) => line.split('=')[0] ?? '');
    expect(names.filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name)).sort()).toEqual(['LC_ALL', 'PATH']);
  });

  it('and tells what the runtime has written to its log, but nothing of a file that a link there leads to', async () => {
    const secret = join(scratch, 'secret');
    writeFileSync(secret, '{"level":"error","msg":"canary"}\n');
    const log = `for arg; do case $arg in --log=file:*) log=${'$'}{arg#--log=file:};; esac; done`;
    for (const [name, put, told] of [
      ['writes-log', 'cat', true],
      ['links-log', 'ln -s', false],
    ] as const) {
      const action = put === 'cat' ? `cat '${secret}' >"$log"` : `rm -f "$log"; ln -s '${secret}' "$log"`;
      const cell = await bootWith(afterVersion(name, `${log}\n${action}\nexit 1`));
      const { cause, error } = await cell.ended;
      expect([cause, error?.message.includes('canary')]).toEqual(['boot-failed', told]);
    }
  });

  it('when the runtime lies about a container and leaves daemons in sessions of their own, and they die', async () => {
    const script = `
      for arg; do [ "$previous" = --pid-file ] && echo 1 >"$arg"; previous=$arg; done
      setsid sh -c 'setsid sleep 1000 & setsid setsid sleep 1000 & exec sleep 1000' &
      setsid sleep 1000 &
      exit 0`;
    const cell = await bootWith(afterVersion('lies', script));
    expect(await cell.ended).toMatchObject({ cause: 'self', exit: { code: 0, signal: null } });
    expect(bench.residue()).toEqual(clean);
  });

  it.each(['crun', 'runc'] as const)('when %s cannot make what it is told, with its own words', async (runtime) => {
    const driver = bench.open({
      runtime,
      weakenForTest: (spec) => ({ ...spec, process: { ...spec.process, args: ['/no/such/program'] } }),
    });
    const cell = await driver.boot(bench.plan(), newCellId());
    expect(await cell.ended).toMatchObject({ cause: 'boot-failed', error: { code: 'IMAGE_CORRUPTED' } });
  });

  it('and never because the cell wrote the words of a failing runtime', async () => {
    const cell = await bench.boot();
    cell.run(
      `process.stderr.write('{"level":"error","msg":"executable file not found"}\\n'); process.exitCode = 1; process.reallyExit(1)`,
    );
    expect(await cell.ended).toMatchObject({ cause: 'self', exit: { code: 1, signal: null } });
  });
});

describe('user namespaces', () => {
  it('are asked of the host before each boot', async () => {
    // In a user namespace of its own the limit can be 0 without the host's being touched.
    const program = `
      import { writeFileSync } from 'node:fs';
      import { createOciDriver } from '@glovebox/cell-oci';
      import { newCellId, newInstanceId } from '@glovebox/contract';
      const driver = createOciDriver({ instance: newInstanceId(), runDirectory: '/tmp/none', rootfsOf: () => '/tmp/none' });
      const attempt = () => driver.boot(JSON.parse(process.argv[1]), newCellId()).catch((error) => error.code);
      const before = await attempt();
      writeFileSync('/proc/sys/user/max_user_namespaces', '0');
      process.stdout.write(before + ' ' + (await attempt()));
    `;
    const output = execFileSync(
      'unshare',
      [
        '--user',
        '--map-root-user',
        process.execPath,
        '--input-type=module',
        '-e',
        program,
        JSON.stringify(bench.plan()),
      ],
      { cwd: import.meta.dirname, env: { PATH: '/usr/bin:/bin' }, encoding: 'utf8' },
    );
    // It gets further as long as there are some.
    expect(output).toBe('IMAGE_MISSING USERNS_UNAVAILABLE');
  });
});

describe('cgroups', () => {
  it('that cannot be written are named, without a cell', () => {
    // In a mount namespace of its own the hierarchies can be read-only without the host's being touched.
    const program = `
      import { createOciDriver } from '@glovebox/cell-oci';
      import { newCellId, newInstanceId } from '@glovebox/contract';
      const [plan, runDirectory, rootfs] = process.argv.slice(1);
      const driver = createOciDriver({ instance: newInstanceId(), runDirectory, rootfsOf: () => rootfs });
      process.stdout.write(await driver.boot(JSON.parse(plan), newCellId()).then(() => 'booted', (error) => error.code));
    `;
    const attempt = (prepare: string): string =>
      execFileSync(
        'unshare',
        [
          '--mount',
          '--propagation',
          'private',
          'sh',
          '-c',
          `${prepare}\nexec "$@"`,
          'sh',
          process.execPath,
          '--input-type=module',
          '-e',
          program,
          JSON.stringify(bench.plan()),
          bench.runDirectory,
          bench.rootfs,
        ],
        { cwd: import.meta.dirname, env: { PATH: '/usr/sbin:/usr/bin:/bin' }, encoding: 'utf8' },
      );
    const all = 'awk \'$9 == "cgroup" || $9 == "cgroup2" { print $5 }\' /proc/self/mountinfo';
    expect(attempt(`for m in $(${all}); do mount -o remount,bind,ro $m; done`)).toBe('CGROUP_UNAVAILABLE');
    expect(attempt(`for m in $(${all}); do umount $m; done`)).toBe('CGROUP_UNAVAILABLE');
  });
});

it('looks for programs where root installs them, and not along the path of its caller', () => {
  const folder = mkdtempSync(join(scratch, 'path-'));
  for (const name of ['crun', 'glovebox-no-such-program'])
    writeFileSync(join(folder, name), '#!/bin/sh\n', { mode: 0o755 });
  const before = process.env.PATH;
  process.env.PATH = folder;
  try {
    expect(findProgram('crun')).toMatch(/^\/(usr|s?bin)/);
    expect(findProgram('glovebox-no-such-program')).toBeUndefined();
  } finally {
    process.env.PATH = before;
  }
});

it('takes crun where nothing is chosen, and the one that is chosen where both are there', async () => {
  expect(findProgram('crun')).toBeDefined();
  for (const [options, expected] of [
    [{}, 'crun'],
    [{ runtime: 'runc' }, 'runc'],
    [{ runtime: findProgram('runc') ?? '' }, 'runc'],
  ] as const) {
    const cell = await bench.open(options).boot(bench.plan(), newCellId());
    expect(cell.facts.runtime).toBe(expected);
    cell.kill('done');
    await cell.ended;
  }
});

it('reports a broken runtime as missing and the host as not usable, without throwing', async () => {
  const report = await bench.open({ runtime: fakeRuntime('fails-inspect', 'exit 9') }).inspect(testImage);
  expect(report.usable).toBe(false);
  expect(report.facts.find(({ name }) => name === 'runtime')).toMatchObject({ state: 'missing', required: true });
});

it('reports a host on which the probe does not come up as not usable, and no property as in force', async () => {
  const probe = join(bench.rootfs, 'glovebox/probe.cjs');
  renameSync(probe, `${probe}.away`);
  try {
    const report = await bench.driver.inspect(testImage);
    expect(report.usable).toBe(false);
    expect(report.facts.find(({ name }) => name === 'probe-cell')).toMatchObject({ state: 'missing', required: true });
    const looked = [
      'kernel',
      'root',
      'user-namespaces',
      'death-with-owner',
      'cgroups',
      'runtime',
      'runtime-floor',
      'proc-subset',
      'disk',
    ];
    const claimed = report.facts.filter(({ name, state }) => state === 'in-force' && !looked.includes(name));
    expect(claimed).toEqual([]);
  } finally {
    renameSync(`${probe}.away`, probe);
  }
  expect((await bench.driver.inspect(testImage)).usable).toBe(true);
});

it('follows no link in the place of a claim', async () => {
  const claimsDirectory = join(scratch, 'linked-claims');
  mkdirSync(claimsDirectory, { mode: 0o700 });
  symlinkSync('/etc/passwd', join(claimsDirectory, '7'));
  const report = await bench.open({ claimsDirectory }).sweep();
  expect(report.removed.uidClaims).toBe(0);
  expect(readdirSync(claimsDirectory)).toEqual(['7']);
  expect(existsSync('/etc/passwd')).toBe(true);
});
