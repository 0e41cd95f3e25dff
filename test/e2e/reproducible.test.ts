import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { copyPackage, listed } from '../support/copies.ts';
import { type CliHome, makeCliHome } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

/** With a dependency, tests and fixtures. */
const source = fileURLToPath(new URL('../../examples/csv-profile', import.meta.url));
const here = mkdtempSync(join(tmpdir(), 'glovebox-same-'));
afterAll(() => rmSync(here, { recursive: true, force: true }));

interface Built {
  artifact: string;
  revision: string;
}

/** Validate in a data directory of its own, in which nothing is known: every step is done. */
async function build(directory: string, env: Record<string, string> = {}, through: string[] = []): Promise<Built> {
  const home = await makeCliHome();
  try {
    return await buildIn(home, directory, env, through);
  } finally {
    home.remove();
  }
}

async function buildIn(
  home: CliHome,
  directory: string,
  env: Record<string, string>,
  through: string[],
): Promise<Built> {
  const { stdout, stderr } = await home.run(['node', 'validate', directory, '--json'], { env, through });
  const { state, artifact, draft, checks } = JSON.parse(stdout) as {
    state: string;
    artifact: string;
    draft: { revision: string };
    checks: { cached: boolean }[];
  };
  expect([state, checks.some(({ cached }) => cached)], stderr).toEqual(['passed', false]);
  return { artifact, revision: draft.revision };
}

const plain = { LC_ALL: 'C', TZ: 'UTC' };
let first: Built;
beforeAll(async () => {
  first = await build(copyPackage(source, join(here, 'plain')), plain);
});

describe('the same source gives the same artifact', () => {
  const elsewhere: string[] = [];
  afterEach(() => {
    for (const path of elsewhere.splice(0)) rmSync(path, { recursive: true, force: true });
  });

  it('from another path and file system that lists files in another order, of another owner, with other modes and times, under another umask', async () => {
    const memory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : here, 'glovebox-same-'));
    elsewhere.push(memory);
    const uid = 54_321;
    const copy = copyPackage(source, join(memory, 'deep er/ünter', 'a name of its own'), {
      uid,
      fileMode: 0o440,
      directoryMode: 0o750,
      mtime: (i) => new Date(i % 2 === 0 ? 1000 : 2_000_000_000_000),
      order: 'reversed',
    });
    expect(lstatSync(join(copy, 'src/index.ts'))).toMatchObject({ uid, mode: 0o100440 });
    const names = [listed(copy), listed(join(here, 'plain'))] as const;
    expect(names[0].toSorted()).toEqual(names[1].toSorted());
    if (memory.startsWith('/dev/shm')) expect(names[0]).not.toEqual(names[1]);
    const umask = ['sh', '-c', 'umask 0077; exec "$@"', 'sh'];
    expect(await build(copy, plain, umask)).toEqual(first);
  });

  it('in another language, time zone and calendar, whose letters and order differ', async () => {
    const env = { LC_ALL: 'tr_TR.UTF-8', LANG: 'tr_TR.UTF-8', LANGUAGE: 'tr', TZ: 'Pacific/Kiritimati' };
    const look =
      '[Intl.DateTimeFormat().resolvedOptions().locale, "i".toLocaleUpperCase(), new Date(0).getTimezoneOffset()].join()';
    const saw = (vars: Record<string, string>): string =>
      execFileSync(process.execPath, ['-p', look], { env: vars, encoding: 'utf8' }).trim();
    expect(saw(env)).not.toBe(saw(plain));
    expect(await build(join(here, 'plain'), env)).toEqual(first);
  });

  it('and another source another one, if only by a line feed', async () => {
    const copy = copyPackage(source, join(here, 'other'));
    execFileSync('sh', ['-c', 'echo >> README.md'], { cwd: copy });
    const other = await build(copy, plain);
    expect(other.revision).not.toBe(first.revision);
    expect(other.artifact).not.toBe(first.artifact);
  });
});
