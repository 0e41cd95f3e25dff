import { readFileSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { copyPackage } from '../support/copies.ts';
import { debianMirror, installDebian, otherRelease } from '../support/other-debian.ts';
import { type CliHome, makeCliHome } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 600_000, hookTimeout: 240_000 });

/** With a dependency, tests and fixtures. */
const source = fileURLToPath(new URL('../../examples/csv-profile', import.meta.url));
const mirror = debianMirror();
let here: string;
let first: { artifact: string; image: string };
beforeAll(async () => {
  here = await mkdtemp(join(tmpdir(), 'glovebox-same-'));
  copyPackage(source, join(here, 'package'));
  first = await withHome('linked', build);
});
afterAll(() => rmSync(here, { recursive: true, force: true }));

async function withHome<Result>(images: 'linked' | 'none', use: (home: CliHome) => Promise<Result>): Promise<Result> {
  const home = await makeCliHome(images);
  try {
    return await use(home);
  } finally {
    home.remove();
  }
}

/** Validate with nothing known of it, in the images that are there or else are made. */
async function build(home: CliHome): Promise<{ artifact: string; image: string }> {
  rmSync(join(home.dataDir, 'cache'), { recursive: true, force: true });
  const validated = await home.run(['node', 'validate', join(here, 'package'), '--json']);
  const { state, artifact, checks } = JSON.parse(validated.stdout) as Validated;
  expect([state, checks.some(({ cached }) => cached)], validated.stderr).toEqual(['passed', false]);
  const { stdout } = await home.run(['image', 'show', '--json']);
  return { artifact, image: runtimeImage(stdout) };
}

interface Validated {
  state: string;
  artifact: string;
  checks: { cached: boolean }[];
}

const runtimeImage = (shown: string): string =>
  (JSON.parse(shown) as { images: { kind: string; digest: string }[] }).images.find(({ kind }) => kind === 'runtime')
    ?.digest ?? '';

describe('the same source gives the same artifact', () => {
  it('in a new instance that makes its images itself, and in images that are made again', async () => {
    await withHome('none', async (home) => {
      expect(await build(home)).toEqual(first);
      expect((await home.run(['image', 'build', '--force'])).code).toBe(0);
      expect(await build(home)).toEqual(first);
    });
  });

  it.skipIf(mirror === undefined)('on another release of Debian, with another runtime image', async () => {
    const root = join(here, 'debian');
    const debian = await installDebian(root, otherRelease(), mirror as string);
    const release = (of: string): string =>
      /^VERSION_ID=.*$/m.exec(readFileSync(`${of}/etc/os-release`, 'utf8'))?.[0] ?? '';
    expect(release(root)).not.toBe(release(''));
    copyPackage(source, join(root, 'srv/package'));
    const data = ['--data-dir', '/srv/data', '--json'];
    const validated = JSON.parse(await debian.glovebox('node', 'validate', '/srv/package', ...data)) as Validated;
    expect(validated).toMatchObject({ state: 'passed', artifact: first.artifact });
    // The C library of another release: what runs in it is another thing, and is told apart.
    expect(runtimeImage(await debian.glovebox('image', 'show', ...data))).not.toBe(first.image);
  });
});
