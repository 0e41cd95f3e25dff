import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packCli } from './pack-cli.ts';

const repository = resolve(import.meta.dirname, '..');
const made = mkdtempSync(join(tmpdir(), 'pack-'));
let program: string;
beforeAll(async () => {
  program = await packCli(join(made, 'one'));
});
afterAll(() => rmSync(made, { recursive: true }));

function contentsOf(directory: string): [path: string, content: string][] {
  return readdirSync(directory, { recursive: true, encoding: 'utf8' })
    .filter((path) => statSync(join(directory, path)).isFile())
    .sort()
    .map((path) => [path, readFileSync(join(directory, path), 'latin1')]);
}

/** In a directory that has nothing of the clone above it. */
const run = (...args: string[]) =>
  spawnSync(process.execPath, ['--disallow-code-generation-from-strings', program, ...args], {
    cwd: '/',
    env: {},
    encoding: 'utf8',
  });

describe('the packed command line', () => {
  it('is the same in every directory, and names none of this machine', async () => {
    await packCli(join(made, 'an other', 'place'));
    const [one, other] = [join(made, 'one'), join(made, 'an other', 'place')].map(contentsOf);
    expect(one).toEqual(other);
    expect(one?.map(([path]) => path)).toEqual(expect.arrayContaining(['bin/glovebox.mjs', 'package.json']));
    expect(one?.filter(([, content]) => content.includes(repository) || content.includes(made))).toEqual([]);
  });

  it('runs without the clone: it tells its version, its commands and its codes', () => {
    const { version } = JSON.parse(readFileSync(join(repository, 'apps/cli/package.json'), 'utf8')) as {
      version: string;
    };
    expect(run('--version')).toMatchObject({ status: 0, stdout: `glovebox ${version}\n`, stderr: '' });
    expect(run('help')).toMatchObject({ status: 0, stdout: expect.stringContaining('verify') });
    expect(run('explain', 'KEY_RETIRED')).toMatchObject({ status: 0, stdout: expect.stringContaining('KEY_RETIRED') });
    expect(run('explain', 'NO_SUCH_CODE').status).toBe(2);
  });

  it('is a program of its own', () => {
    const path = `${dirname(process.execPath)}:/usr/bin:/bin`;
    const { status, stdout } = spawnSync(program, ['--version'], { cwd: '/', env: { PATH: path }, encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^glovebox \d/)]);
  });

  it('is packed by a command, which takes one directory', () => {
    const pack = (...args: string[]) =>
      spawnSync(process.execPath, [join(repository, 'tools/pack-cli.ts'), ...args], { cwd: made, encoding: 'utf8' });
    expect(pack('by-command').status).toBe(0);
    expect(contentsOf(join(made, 'by-command'))).toEqual(contentsOf(join(made, 'one')));
    expect(pack().status).toBe(2);
    expect(pack('a', 'b').status).toBe(2);
  });
});
