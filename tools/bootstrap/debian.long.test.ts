import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isDebian, planPackages } from './debian.mjs';
import { atTerminal, bootstrap, exitOfChild, removeTemporaries, smallClone, start } from './small-clone.ts';

/** Small, harmless, and needed by nothing: it is really installed and removed. */
const guinea = 'hello';
const needs = `[{ what: 'the tool', package: '${guinea}', commands: ['${guinea}'] }]`;
const canInstall = isDebian(process.env) && process.getuid?.() === 0;

const isThere = () => existsSync(`/usr/bin/${guinea}`);
const remove = () =>
  spawnSync('apt-get', ['remove', '-y', '-qq', guinea], {
    env: { PATH: process.env.PATH, DEBIAN_FRONTEND: 'noninteractive' },
  });

describe.skipIf(!canInstall)('a package that the system lacks', () => {
  // Someone's own must not be removed at the end.
  beforeAll(() => expect(isThere()).toBe(false));
  afterAll(() => {
    remove();
    removeTemporaries();
  });

  it('is installed when the terminal says yes, then the task runs', () => {
    const root = smallClone({ needs, task: 'console.log("ran");' });
    const { status, stdout } = atTerminal(root, 'y\n');
    expect({ status, isThere: isThere() }).toEqual({ status: 0, isThere: true });
    expect(stdout).toMatch(/1 package \(hello\), [\d.]+ MiB to fetch, [\d.]+ MiB on disk/);
    expect(stdout).toMatch(/^ran/m);
    remove();
  });

  it.each([
    ['--yes', ['--yes'], {}],
    ['CI', [], { CI: 'true' }],
  ])('is installed unasked with %s, and left alone by the second run', (_, argv, env) => {
    const root = smallClone({ needs, task: 'console.log("ran");' });
    const first = bootstrap(root, ['verify', ...argv], env);
    expect({ ...first, isThere: isThere() }).toMatchObject({ status: 0, stdout: 'ran\n', isThere: true });
    expect(bootstrap(root, ['verify'])).toMatchObject({ status: 0, stdout: 'ran\n', stderr: '' });
    remove();
    expect(bootstrap(root, ['verify'], { CI: 'false' }).status).toBe(2);
  });

  it('is installed once by two setups of two clones', async () => {
    const clones = [1, 2].map(() => smallClone({ needs, task: 'console.log("ran");' }));
    const runs = clones.map((root) => start(root, ['verify', '--yes']));
    const codes = await Promise.all(runs.map(({ child }) => exitOfChild(child)));
    const installs = runs.filter(({ output }) => output().includes('Setting up hello'));
    expect({ codes, installs: installs.length }).toEqual({ codes: [0, 0], installs: 1 });
    expect(readdirSync('/run/glovebox-setup')).toEqual([]);
    remove();
  });

  it('ends in a typed failure when no archive has it', () => {
    const root = smallClone({
      needs: needs.replaceAll(guinea, 'no-such-package-of-glovebox'),
      task: 'console.log("ran");',
    });
    const { status, stdout, stderr } = bootstrap(root, ['verify', '--yes']);
    expect({ status, stdout }).toEqual({ status: 3, stdout: '' });
    expect(stderr).toContain('SETUP_INSTALL_FAILED: apt does not know no-such-package-of-glovebox');
  });

  it('is planned with its size, without root and without a change', () => {
    const plan = planPackages([guinea], process.env);
    expect(plan?.packages).toEqual([guinea]);
    expect(plan?.diskBytes).toBeGreaterThan(10_000);
    expect(isThere()).toBe(false);
  });
});
