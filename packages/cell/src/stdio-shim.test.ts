import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { assembleStdioShim, shimFailureCode, stdioShimArch } from './stdio-shim.ts';

const home = mkdtempSync(join(tmpdir(), 'glovebox-stdio-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));
const shim = join(home, 'stdio');
writeFileSync(shim, assembleStdioShim(), { mode: 0o755 });

/** A shell, because it connects programs by pipes: what Node.js connects its children by are sockets. */
function shell(script: string): { status: number | null; stdout: string; stderr: string } {
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', SHIM: shim, KEPT: 'as it was' };
  return spawnSync('/bin/sh', ['-c', script], { encoding: 'utf8', env, cwd: home, timeout: 10_000 });
}

/** What the program that it becomes has open: number, access, target. Others than ours begin at 10. */
function descriptors(listing: string): [number, string, string][] {
  return [...listing.matchAll(/^l(\S{3})\S* .* (\d) -> (.*)$/gm)].map(
    ([, access, fd, target]): [number, string, string] => [Number(fd), access ?? '', target ?? ''],
  );
}

describe.skipIf(process.arch !== stdioShimArch)('the program that moves the channel off the standard streams', () => {
  it('leaves its program the channel on fds 3 and 4, nothing to read on 0, and the error stream on 1', () => {
    const { stdout, stderr, status } = shell(
      `printf 'said by the host' | $SHIM /bin/sh -c '(exec ls -l /proc/$$/fd >&4); cat; echo printed; echo warned >&2; cat <&3 >&4' | cat`,
    );
    expect(status).toBe(0);
    const open = descriptors(stdout);
    expect(open.map(([fd, access]) => `${fd} ${access}`)).toEqual(['0 r-x', '1 rwx', '2 rwx', '3 r-x', '4 -wx']);
    const [empty, out, error, read, write] = open.map(([, , target]) => target);
    expect(empty).toBe('/dev/null');
    expect(out).toBe(error);
    expect([read, write]).toEqual([expect.stringMatching(/^pipe:/), expect.stringMatching(/^pipe:/)]);
    expect(new Set([out, read, write]).size).toBe(3);
    expect(stdout.endsWith('\nsaid by the host')).toBe(true);
    expect(stderr).toBe('printed\nwarned\n');
  });

  it('becomes its first argument, which gets the others, its environment and its exit code', () => {
    const { stdout, status } = shell(`$SHIM /bin/sh -c 'echo "$0|$1|$2|$KEPT" >&4; exit 7' 'a b' '' c`);
    expect({ stdout, status }).toEqual({ stdout: 'a b||c|as it was\n', status: 7 });
  });

  it.each([
    ['no program is named', '$SHIM', 'glovebox stdio: no program to become\n'],
    ['there is no such program', '$SHIM /nonexistent/program', 'glovebox stdio: the program cannot be executed\n'],
    ['the program may not be executed', '$SHIM /dev/null', 'glovebox stdio: the program cannot be executed\n'],
    ['there is no fd 0', '$SHIM /bin/echo became <&-', 'glovebox stdio: fd 0 cannot be moved\n'],
    ['there is no fd 1', '$SHIM /bin/echo became >&-', 'glovebox stdio: fd 1 cannot be moved\n'],
    ['there is no fd 2', '$SHIM /bin/echo became 2>&-', ''],
  ])('ends and says so, when %s', (_, script, line) => {
    expect(shell(script)).toMatchObject({ status: shimFailureCode, stdout: '', stderr: line });
  });

  it.runIf(process.getuid?.() === 0)('ends and says so, when there is no /dev/null', () => {
    const root = join(home, 'root');
    mkdirSync(root);
    copyFileSync(shim, join(root, 'stdio'));
    expect(shell(`chroot ${root} /stdio /stdio`)).toMatchObject({
      status: shimFailureCode,
      stdout: '',
      stderr: 'glovebox stdio: /dev/null cannot be fd 0\n',
    });
    // The twin: with it, and nothing else, it becomes its program, which here is itself without an argument.
    mkdirSync(join(root, 'dev'));
    writeFileSync(join(root, 'dev/null'), '');
    expect(shell(`chroot ${root} /stdio /stdio`).stderr).toBe('glovebox stdio: no program to become\n');
  });
});

it('is the same bytes each time, as a part of an image with a reproducible id', () => {
  expect(Buffer.from(assembleStdioShim()).equals(Buffer.from(assembleStdioShim()))).toBe(true);
});
