import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  asNobody,
  withoutCgroups,
  withoutPrograms,
  withoutUserNamespaces,
  withReadOnly,
  withReadOnlyCgroups,
} from '../support/altered-host.ts';
import { type CliHome, listTree, makeCliHome, useCli } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 240_000 });

const cli = useCli();
const node = ['node', 'run', 'good', '--trial', '--json'];
beforeAll(async () => {
  await cli().node('good', { id: 'good', body: 'return 42;' });
  expect((await cli().run(node)).code).toBe(0);
});

const crun = ['/usr/bin/crun', '/usr/sbin/crun', '/usr/local/bin/crun', '/usr/local/sbin/crun'];
const runc = ['/usr/sbin/runc', '/usr/bin/runc', '/usr/local/bin/runc', '/usr/local/sbin/runc'];
const isInstalled = (paths: string[]): boolean => paths.some((path) => existsSync(path));

interface Fact {
  name: string;
  state: string;
  detail: string;
  hint?: string;
}

/** A host that lacks something: how to see it so, the code, the fact of `doctor` that says it, and the hint there. */
const lacks: [string, () => string[], string, string, RegExp][] = [
  ['has no runtime', () => withoutPrograms(...crun, ...runc), 'RUNTIME_MISSING', 'runtime', /apt-get install crun/],
  [
    'has no user namespaces',
    () => withoutUserNamespaces(join(cli().dir, 'zero')),
    'USERNS_UNAVAILABLE',
    'user-namespaces',
    /max_user_namespaces/,
  ],
  ['has no cgroups', withoutCgroups, 'CGROUP_UNAVAILABLE', 'cgroups', /controllers/],
  ['has cgroups that cannot be written', withReadOnlyCgroups, 'CGROUP_UNAVAILABLE', 'cgroups', /read-write|root/],
  [
    'lacks the programs that start a cell',
    () => withoutPrograms('/usr/bin/setpriv', '/usr/bin/unshare'),
    'HOST_UNSUPPORTED',
    'death-with-owner',
    /util-linux/,
  ],
];

describe.concurrent('a host that lacks something, as one that', () => {
  let before: string[];
  beforeAll(() => {
    before = listTree(cli().dataDir);
  });
  afterAll(() => expect(listTree(cli().dataDir)).toEqual(before));

  it.each(lacks)('%s is told by its code, and by doctor with how to get it', async (_, through, code, name, hint) => {
    // The script runs unshare itself, so what it hides it hides from what comes after.
    const ran = await cli().run(node, { through: through() });
    expect({ exit: ran.code, code: ran.json().error?.code, stderr: ran.stderr }).toEqual({ exit: 3, code, stderr: '' });
    expect(ran.json().error?.hint).toMatch(/\S/);
    const doctor = await cli().run(['doctor', '--json'], { through: through() });
    const { usable, facts } = doctor.json() as unknown as { usable: boolean; facts: Fact[] };
    expect({ exit: doctor.code, usable }).toEqual({ exit: 3, usable: false });
    const missing = facts.filter(({ name: is }) => is === name);
    expect(missing).toEqual([expect.objectContaining({ state: 'missing', hint: expect.stringMatching(hint) })]);
    // What was not probed is not claimed.
    expect(facts.find(({ name: is }) => is === 'seccomp')?.state).toBe('unknown');
    if (name !== 'runtime') return;
    const text = await cli().run(['doctor'], { through: through() });
    expect(text.stdout).toMatch(new RegExp(`✗ ${name} .*\\n +hint: .*apt-get`));
    expect(text.stdout).toContain('not probed yet: ');
    expect(text.stdout).toContain('This host cannot run cells.');
  });
});

describe('a host that', () => {
  it('lacks nothing runs it, after all that', async () => {
    expect((await cli().run(node)).code).toBe(0);
  });

  it.skipIf(!isInstalled(runc) || !isInstalled(crun))('has runc alone runs it with runc', async () => {
    const through = withoutPrograms(...crun);
    const ran = await cli().run(node, { through });
    expect({ code: ran.code, output: ran.json().output }).toEqual({ code: 0, output: 42 });
    const { statement } = (await cli().run(['verify', ran.json().run as string, '--json'])).json() as unknown as {
      statement: { predicate: { observed: { driver: { runtime: string } } } };
    };
    expect(statement.predicate.observed.driver.runtime).toBe('runc');
    expect(cli().residue()).toEqual([]);
  });

  it('gives us no root is told so, and what needs none still works', async () => {
    const dir = join(cli().dir, 'of-nobody');
    mkdirSync(dir);
    chmodSync(dir, 0o777);
    for (const path of [cli().dir, join(cli().dir, 'good')]) chmodSync(path, 0o755);
    const as = (home: CliHome, args: string[]) =>
      home.run(args, { through: asNobody(), env: { GLOVEBOX_DATA_DIR: join(dir, 'data'), HOME: dir } });
    const ran = await as(cli(), node);
    expect({ exit: ran.code, code: ran.json().error?.code }).toEqual({ exit: 3, code: 'PRIVILEGE_MISSING' });
    expect((await as(cli(), ['run', 'list', '--json'])).json()).toEqual({ runs: [] });
    expect((await as(cli(), ['node', 'new', join(dir, 'new-node')])).code).toBe(0);
    const doctor = await as(cli(), ['doctor']);
    expect(doctor.code).toBe(3);
    expect(doctor.stdout).toMatch(/✗ root +runs as uid 65534\n +hint: Run as root\./);
    expect(doctor.stdout).toMatch(/✓ data-directory/);
    // A data directory of somebody else's is nobody's to use or to look into.
    const theirs = await cli().run(['run', 'list', '--json'], { through: asNobody() });
    expect({ exit: theirs.code, code: theirs.json().error?.code }).toEqual({ exit: 3, code: 'DATA_DIR_UNUSABLE' });
    const looked = await cli().run(['doctor'], { through: asNobody() });
    expect(looked.stdout).toMatch(/✗ data-directory/);
    expect(looked.stdout).toMatch(/✗ root/);
  });

  it('has a read-only disk is told so', async () => {
    // Of its own: while another command has a database open it can be read, even so.
    const home = await makeCliHome();
    try {
      await home.node('good', { id: 'good', body: 'return 42;' });
      expect((await home.run(['run', 'list'])).code).toBe(0);
      const through = withReadOnly(home.dataDir);
      for (const args of [node, ['run', 'list', '--json'], ['image', 'build', '--force', '--json']]) {
        const { code, json } = await home.run(args, { through });
        expect({ args, code, error: json().error?.code }).toEqual({ args, code: 3, error: 'DATA_DIR_UNUSABLE' });
      }
      expect((await home.run(['doctor'], { through })).stdout).toMatch(/✗ data-directory/);
    } finally {
      home.remove();
    }
  });
});

const runtimes: [string, string | undefined, string, RegExp][] = [
  ['is not there', undefined, 'RUNTIME_BROKEN', /not an executable file/],
  ['fails at once', '#!/bin/sh\nexit 1\n', 'RUNTIME_BROKEN', /ended with 1/],
  ['dies', '#!/bin/sh\nkill -9 $$\n', 'RUNTIME_BROKEN', /SIGKILL/],
  ['hangs when it is asked', '#!/bin/sh\ntrap "" TERM INT\nsleep 300 & wait\n', 'RUNTIME_BROKEN', /did not answer/],
  ['says something else', '#!/bin/sh\nprintf "\\033[2Jhello\\n"\n', 'RUNTIME_BROKEN', /does not tell/],
  ['says too much', '#!/bin/sh\nexec yes crun\n', 'RUNTIME_BROKEN', /./],
  ['is too old', '#!/bin/sh\necho runc version 1.1.11\n', 'HOST_UNSUPPORTED', /CVE-2024-21626/],
  ['is no program', 'this is text', 'RUNTIME_BROKEN', /./],
  [
    'makes no container',
    '#!/bin/sh\n[ "$1" = --version ] && { echo crun version 9.9; exit; }\nexit 1\n',
    'RUNTIME_BROKEN',
    /./,
  ],
  [
    'writes to the channel',
    '#!/bin/sh\n[ "$1" = --version ] && { echo crun version 9.9; exit; }\nprintf garbage-garbage-garbage-garbage >&3\nsleep 1\n',
    'RUNTIME_BROKEN|CHANNEL_CORRUPTED|CELL_BOOT_FAILED|CELL_LOST',
    /./,
  ],
];

describe.concurrent('a runtime that is no good, as one that', () => {
  it.each(runtimes)('%s is a typed error, and leaves nothing', async (_, script, code, says) => {
    const home = await makeCliHome();
    try {
      const path = join(home.dir, 'runtime');
      if (script !== undefined) {
        writeFileSync(path, script);
        chmodSync(path, 0o755);
      }
      writeFileSync(join(home.dataDir, 'glovebox.yaml'), `runtime: ${path}\n`, { mode: 0o600 });
      await home.node('good', { id: 'good', body: 'return 42;' });
      const ran = await home.run(node);
      expect({ exit: ran.code, error: ran.json().error }).toEqual({
        exit: expect.toSatisfy((exit: number) => exit === 1 || exit === 3),
        error: expect.objectContaining({
          code: expect.stringMatching(new RegExp(`^(${code})$`)),
          message: expect.stringMatching(says),
          hint: expect.stringMatching(/\S/),
        }),
      });
      expect((await home.run(['doctor', '--json'])).code).toBe(3);
      expect(home.residue()).toEqual([]);
      expect(home.leftovers()).toEqual([]);
    } finally {
      home.remove();
    }
  });
});

describe('a runtime that', () => {
  it('works is named by its path', async () => {
    const [path] = [...crun, ...runc].filter((candidate) => existsSync(candidate));
    writeFileSync(join(cli().dataDir, 'glovebox.yaml'), `runtime: ${path}\n`);
    expect((await cli().run(node)).code).toBe(0);
    writeFileSync(join(cli().dataDir, 'glovebox.yaml'), 'runtime: auto\n');
    expect((await cli().run(node)).code).toBe(0);
  });

  it('is not executable is told so', async () => {
    const path = join(cli().dir, 'plain-file');
    writeFileSync(path, '#!/bin/sh\n', { mode: 0o644 });
    writeFileSync(join(cli().dataDir, 'glovebox.yaml'), `runtime: ${path}\n`);
    const { code, json } = await cli().run(node);
    expect({ code, error: json().error?.code }).toEqual({ code: 3, error: 'RUNTIME_BROKEN' });
    writeFileSync(join(cli().dataDir, 'glovebox.yaml'), '');
  });
});
