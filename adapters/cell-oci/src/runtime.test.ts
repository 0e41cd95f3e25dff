import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { runProgram } from './host-program.ts';
import { launcherError } from './launch.ts';
import { bindsOf, chooseMountPoint, mountTable } from './launch-mounts.ts';
import { findRuntime, runtimeCommand } from './runtime.ts';
import { readRuntimeErrors, runtimeError } from './runtime-log.ts';

const home = mkdtempSync(join(tmpdir(), 'glovebox-runtime-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

function program(name: string, script: string): string {
  const path = join(home, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`);
  chmodSync(path, 0o755);
  return path;
}

describe('a runtime', () => {
  it('is known by what it says of itself', async () => {
    const path = program('named-otherwise', "echo 'runc version 1.3.0'; echo 'commit: x'");
    const verdict = { open: [], removed: [expect.objectContaining({ id: 'CVE-2025-31133' }), expect.anything()] };
    expect(await findRuntime(path, 'ns', 2000)).toEqual({ kind: 'runc', path, version: '1.3.0', verdict });
  });

  it('below the floor is not mended by the package of another file', async () => {
    const path = program('own-build', "echo 'runc version 1.1.5+ds1'");
    const open = async (choice: string): Promise<string[]> =>
      (await findRuntime(choice, 'ns', 5000)).verdict.open.map(({ id }) => id);
    expect(await open(path)).toEqual(['CVE-2024-21626']);
    // The distribution's own file, with the same version, is.
    expect(await open('runc')).toEqual([]);
  });

  it('is one of the class that is asked for, and no other', async () => {
    const sandbox = program('sandbox', "echo 'runsc version 0.0~20221219.0'; echo 'spec: 1.0.2-dev'");
    expect((await findRuntime(sandbox, 'gvisor', 2000)).path).toBe(sandbox);
    await expect(findRuntime(sandbox, 'ns', 2000)).rejects.toMatchObject({ code: 'CLASS_UNAVAILABLE' });
    await expect(findRuntime(undefined, 'kvm', 2000)).rejects.toMatchObject({ code: 'CLASS_UNAVAILABLE' });
  });

  it('is given one more descriptor and a log of its own', () => {
    const call = { bundle: '/b', stateFolder: '/b/state', log: '/b/log', pidFile: '/b/pid', id: 'x' };
    expect(runtimeCommand({ kind: 'crun', path: '/crun' }, call).join(' ')).toBe(
      '/crun --cgroup-manager=disabled --log=file:/b/log --root /b/state --log-format=json run --pid-file /b/pid --preserve-fds 1 --bundle /b x',
    );
    expect(runtimeCommand({ kind: 'runc', path: '/runc' }, call).join(' ')).toBe(
      '/runc --log /b/log --root /b/state --log-format=json run --pid-file /b/pid --preserve-fds 1 --bundle /b x',
    );
    expect(runtimeCommand({ kind: 'runsc', path: '/runsc' }, call).join(' ')).toBe(
      '/runsc --platform=ptrace --network=none --ignore-cgroups --oci-seccomp --file-access=exclusive --log /b/log --root /b/state --log-format=json run --pid-file /b/pid --bundle /b x',
    );
  });
});

describe('a program of the host', () => {
  it('gives its output, and no environment of ours to what it does', async () => {
    process.env.GLOVEBOX_CANARY = 'canary';
    const output = await runProgram(program('env', '/usr/bin/env'), [], 2000, 'RUNTIME_BROKEN');
    delete process.env.GLOVEBOX_CANARY;
    expect(output).not.toContain('canary');
    expect(output).toContain('LC_ALL=C');
  });

  it('is killed with its children at the deadline', async () => {
    const marker = `glovebox-${process.pid}-sleeper`;
    const path = program(marker, 'sleep 300 & sleep 300');
    await expect(runProgram(path, [], 300, 'RUNTIME_BROKEN')).rejects.toMatchObject({ code: 'RUNTIME_BROKEN' });
    const others = await runProgram('/bin/ps', ['-eo', 'args'], 2000, 'INTERNAL');
    expect(others).not.toContain(marker);
  });

  it('is not waited for when a child of it holds the pipe', async () => {
    const path = program('leaves-a-child', 'sleep 300 & echo $!');
    const output = await runProgram(path, [], 2000, 'RUNTIME_BROKEN');
    expect(output).toMatch(/^\d+\n$/);
    // By the id that the script told: nothing else on this machine is ours to end.
    process.kill(Number(output), 'SIGKILL');
  });
});

describe('the log of a runtime', () => {
  it('gives messages at level error, whatever else is in it', () => {
    const path = join(home, 'log');
    writeFileSync(
      path,
      '{"level":"warning","msg":"w"}\nno json\n{"level":"error","msg":"first"}\n{"level":"error"}\n[]\n{"level":"fatal","msg":"second"}\n',
    );
    expect(readRuntimeErrors(path)).toEqual(['first', 'second']);
    expect(readRuntimeErrors(join(home, 'none'))).toEqual([]);
  });

  it('is read where entries stand on one line, and not waited for where something else is in its place', () => {
    const path = join(home, 'one-line');
    writeFileSync(path, '{"msg":"first","level":"error"}{"msg":"second","level":"error"}');
    expect(readRuntimeErrors(path)).toEqual(['first', 'second']);
    const pipe = join(home, 'pipe');
    execFileSync('mkfifo', [pipe]);
    expect(readRuntimeErrors(pipe)).toEqual([]);
    expect(readRuntimeErrors(home)).toEqual([]);
  });

  it.each([
    ['executable file `/usr/bin/node` not found in $PATH: No such file or directory', 'IMAGE_CORRUPTED'],
    ['clone: No space left on device', 'USERNS_UNAVAILABLE'],
    ['write to `/run/x`: No space left on device', 'DISK_FULL'],
    ['write to `/proc/7/uid_map`: Operation not permitted', 'USERNS_UNAVAILABLE'],
    ['mount `proc` to `proc`: Operation not permitted', 'HOST_UNSUPPORTED'],
    ['cgroups in hybrid mode not supported', 'CGROUP_UNAVAILABLE'],
    ['something new', 'RUNTIME_BROKEN'],
  ])('takes "%s" for %s', (message, code) => {
    expect(runtimeError([message], 'no words')).toMatchObject({ code });
  });
});

describe('the launcher', () => {
  it.each([
    [81, 'mount: /mnt: special device does not exist.', 'HOST_UNSUPPORTED'],
    [83, 'sh: cannot create: Permission denied', 'CGROUP_UNAVAILABLE'],
    [1, 'unshare: unshare failed: Operation not permitted', 'PRIVILEGE_MISSING'],
    [1, 'unshare: unshare failed: No space left on device', 'HOST_UNSUPPORTED'],
    [null, '', 'HOST_UNSUPPORTED'],
  ])('that ends with %s and "%s" means %s', (code, words, expected) => {
    expect(launcherError(code, words).code).toBe(expected);
  });

  it('writes paths into its mount table so that none can be another field or line', () => {
    const hostile = '/data dir/#a\tb\\c\nd /etc none bind 0 0';
    expect(mountTable(bindsOf(hostile, '/mnt', '/usr/bin/crun')).split('\n')).toEqual([
      '/data\\040dir/\\043a\\011b\\134c\\012d\\040/etc\\040none\\040bind\\0400\\0400 /mnt none bind,ro,nosuid,nodev 0 0',
      '/usr/bin/crun /usr/bin/crun none bind,ro 0 0',
      '',
    ]);
  });

  it('mounts over what a cell need not see, never over what the runtime has to read', () => {
    expect(chooseMountPoint('/sys/fs/cgroup/unified', ['/mnt/data'])).toBe('/sys/fs/cgroup/unified');
    expect(chooseMountPoint(undefined, ['/root/data'])).toBe('/mnt');
    expect(chooseMountPoint(undefined, ['/mnt/data/run', '/root/x'])).not.toBe('/mnt');
  });
});
