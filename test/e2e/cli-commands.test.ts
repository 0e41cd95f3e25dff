import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorCatalogue } from '@glovebox/contract';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { parse } from 'yaml';
import { commands } from '../../apps/cli/src/commands.ts';
import { type CliHome, listTree, makeCliHome, useCli } from '../support/use-cli.ts';

vi.setConfig({ testTimeout: 240_000 });

const cli = useCli();
const repository = fileURLToPath(new URL('../..', import.meta.url));

describe('glovebox init', () => {
  let home: CliHome;
  beforeAll(async () => {
    home = await makeCliHome('none');
  });
  afterAll(() => home.remove());

  it('makes a private data directory with a configuration that is all comments', async () => {
    const { code, stdout, stderr } = await home.run(['init']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(home.dataDir);
    expect(stdout).toContain('Next: glovebox doctor');
    expect(listTree(home.dataDir)).toEqual([
      expect.stringMatching(/^glovebox\.yaml 600 \d+$/),
      expect.stringMatching(/^instance\.json 600 \d+$/),
      'keys/ 700',
      expect.stringMatching(/^keys\/signing\.pem 600 \d+$/),
      expect.stringMatching(/^keys\/signing\.pub\.pem 6\d\d \d+$/),
    ]);
    const text = readFileSync(join(home.dataDir, 'glovebox.yaml'), 'utf8');
    expect(parse(text)).toBeNull();
    // What is commented out is what the configuration takes.
    const settings = text
      .split('\n')
      .filter((line) => /^# [a-zA-Z]+: /.test(line))
      .map((line) => line.slice(2));
    expect(settings.map((line) => line.split(':')[0])).toEqual([
      'driver',
      'docker',
      'celld',
      'class',
      'runtime',
      'acceptedRisks',
      'registry',
      'packages',
      'egress',
    ]);
    writeFileSync(join(home.dataDir, 'glovebox.yaml'), `${settings.join('\n')}\n`);
    expect((await home.run(['run', 'list'])).code).toBe(0);
  });

  it('refuses a second time and changes nothing', async () => {
    const before = listTree(home.dataDir);
    const { code, stdout, json } = await home.run(['init', '--json']);
    expect(code).toBe(2);
    expect(JSON.parse(stdout)).toEqual(json());
    expect(json().error).toMatchObject({
      code: 'ALREADY_EXISTS',
      place: { file: join(home.dataDir, 'glovebox.yaml') },
      hint: expect.stringMatching(/./),
    });
    expect(listTree(home.dataDir)).toEqual(before);
  });

  it('tells as JSON what it made, and where --data-dir says', async () => {
    const other = join(home.dir, 'deep', 'other');
    const result = await home.run(['--data-dir', other, 'init', '--json']);
    expect(result.code).toBe(0);
    expect(result.json()).toEqual({
      dataDir: other,
      config: join(other, 'glovebox.yaml'),
      instance: expect.stringMatching(/^ins_[0-9a-z]{22}$/),
      publicKey: readFileSync(join(other, 'keys', 'signing.pub.pem'), 'utf8'),
    });
    expect(statSync(other).mode & 0o777).toBe(0o700);
  });

  it('goes to XDG_DATA_HOME where nothing else is said, and to ~/.local/share without it', async () => {
    const env = { GLOVEBOX_DATA_DIR: '', XDG_DATA_HOME: join(home.dir, 'xdg') };
    expect((await home.run(['init'], { env })).code).toBe(2);
    const bin = fileURLToPath(new URL('../../apps/cli/bin/glovebox.mjs', import.meta.url));
    const run = (extra: Record<string, string>) =>
      spawnSync(process.execPath, [bin, 'init'], { env: { PATH: process.env.PATH, HOME: home.dir, ...extra } });
    expect(run({ XDG_DATA_HOME: join(home.dir, 'xdg') }).status).toBe(0);
    expect(existsSync(join(home.dir, 'xdg', 'glovebox', 'glovebox.yaml'))).toBe(true);
    expect(run({ XDG_DATA_HOME: 'relative' }).status).toBe(0);
    expect(existsSync(join(home.dir, '.local', 'share', 'glovebox', 'glovebox.yaml'))).toBe(true);
  });
});

describe('glovebox doctor', () => {
  it('boots a probe cell and says what is in force, for people', async () => {
    const { code, stdout, stderr } = await cli().run(['doctor']);
    expect(code).toBe(0);
    for (const name of ['data-directory', 'images', 'kernel', 'runtime', 'seccomp', 'namespace-network', 'probe-cell'])
      expect(stdout).toMatch(new RegExp(`^  ✓ ${name} `, 'm'));
    expect(stdout.trim().endsWith('This host can run cells.')).toBe(true);
    expect(stderr).toContain('Booting a probe cell');
  });

  it('says the same as JSON, each fact with its name, state and detail', async () => {
    const { code, json, stderr } = await cli().run(['doctor', '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const { usable, driver, facts, swept, acceptedRisks } = json() as Record<string, unknown> & {
      facts: { name: string; required: boolean; state: string; detail: string }[];
    };
    expect({ usable, driver, acceptedRisks }).toEqual({ usable: true, driver: 'oci', acceptedRisks: [] });
    expect(facts.filter(({ required, state }) => required && state !== 'in-force')).toEqual([]);
    expect(facts.every(({ name, detail }) => name !== '' && detail !== '')).toBe(true);
    expect(new Set(facts.map(({ name }) => name)).size).toBe(facts.length);
    expect(swept).toMatchObject({ removed: { cells: 0, processes: 0 } });
    const {
      class: cellClass,
      drivers,
      gauges,
    } = json() as unknown as {
      class: string;
      drivers: { driver: string; class: string; usable: boolean; facts: { name: string }[] }[];
      gauges: Record<string, number>;
    };
    // What is configured comes first, and each is there once.
    expect(cellClass).toBe('ns');
    expect(drivers[0]).toMatchObject({ driver: 'oci', class: 'ns', usable: true });
    const names = drivers.map((each) => `${each.driver} ${each.class}`);
    expect(new Set(names).size).toBe(names.length);
    expect(Object.values(gauges)).toEqual(Array(7).fill(0));
  });
});

describe('glovebox image', () => {
  it('builds both images, shows them, and does nothing when they are there', async () => {
    const built = await cli().run(['image', 'build', '--json']);
    expect(built.code).toBe(0);
    const { images } = built.json() as { images: unknown } as { images: { kind: string; digest: string }[] };
    expect(images.map(({ kind }) => kind)).toEqual(['runtime', 'builder']);
    const shown = await cli().run(['image', 'show', '--json', '--verify']);
    expect(shown.code).toBe(0);
    expect(shown.json()).toMatchObject({ images, verified: true });
    const [runtime] = (shown.json() as unknown as { images: { contents: Record<string, string>; rootfs: string }[] })
      .images;
    expect(runtime?.contents.node).toMatch(/^\d+\.\d+\.\d+$/);
    expect(existsSync(join(runtime?.rootfs ?? '', 'usr/bin/node'))).toBe(true);
    const text = await cli().run(['image', 'show']);
    for (const { kind, digest } of images) expect(text.stdout).toContain(`${kind}  ${digest}`);
  });

  it('builds the same images from nothing', async () => {
    const home = await makeCliHome('none');
    try {
      const missing = await home.run(['image', 'show', '--json']);
      expect(missing.code).toBe(3);
      expect(missing.json().error).toMatchObject({ code: 'IMAGE_MISSING', hint: 'Run glovebox image build.' });
      const built = await home.run(['image', 'build', '--json=lines']);
      expect(built.code).toBe(0);
      const lines = built.stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { event: string; images?: unknown });
      expect(lines.at(-1)?.event).toBe('result');
      expect(lines.slice(0, -1).every(({ event }) => event === 'progress')).toBe(true);
      const digests = async (of: CliHome) =>
        ((await of.run(['image', 'show', '--json'])).json() as unknown as { images: { digest: string }[] }).images.map(
          ({ digest }) => digest,
        );
      expect(await digests(home)).toEqual(await digests(cli()));

      const [digest = ''] = await digests(home);
      const program = join(home.dataDir, 'images', digest.slice('sha256:'.length), 'rootfs/usr/bin/node');
      // A copy first: the file itself is linked into the pool.
      copyFileSync(program, `${program}.copy`);
      renameSync(`${program}.copy`, program);
      truncateSync(program, statSync(program).size - 1);
      const broken = await home.run(['image', 'show', '--verify', '--json']);
      expect(broken.code).toBe(3);
      expect(broken.json().error).toMatchObject({
        code: 'IMAGE_CORRUPTED',
        message: expect.stringContaining('usr/bin/node'),
        hint: expect.stringContaining('--force'),
      });
      expect((await home.run(['image', 'build', '--force'])).code).toBe(0);
      expect((await home.run(['image', 'show', '--verify'])).code).toBe(0);
      expect(home.leftovers()).toEqual([]);
    } finally {
      home.remove();
    }
  });
});

describe('glovebox node new', () => {
  it('writes a package that runs, passes its own tests and its types', async () => {
    const { dir, run } = cli();
    const made = await run(['node', 'new', 'word-count', '--json']);
    expect(made.code).toBe(0);
    const { files, ...rest } = made.json() as { files: string[] };
    expect(rest).toEqual({ directory: join(dir, 'word-count'), id: 'word-count' });
    expect(files).toEqual(expect.arrayContaining(['node.json', 'package.json', 'src/index.ts', 'AGENTS.md']));
    for (const file of files) expect(existsSync(join(dir, 'word-count', file))).toBe(true);
    expect((await run(['node', 'run', 'word-count', '--trial', '--fixture', 'basic'])).code).toBe(0);
    expect(runTests(join(dir, 'word-count'))).toEqual({ status: 0, failed: 0, passed: expect.any(Number) });
    // What `npm install` would bring.
    for (const name of ['@types/node', 'undici-types']) {
      mkdirSync(join(dir, 'word-count/node_modules', name, '..'), { recursive: true });
      symlinkSync(join(repository, 'node_modules', name), join(dir, 'word-count/node_modules', name));
    }
    const tsc = join(repository, 'node_modules/typescript/bin/tsc');
    const typed = spawnSync(process.execPath, [tsc, '-p', '.'], { cwd: join(dir, 'word-count'), encoding: 'utf8' });
    expect({ status: typed.status, stdout: typed.stdout }).toEqual({ status: 0, stdout: '' });
  });

  it('takes id and title, below directories that are not there yet', async () => {
    const { dir, run } = cli();
    const title = 'Zähler “für” <Wörter> \\ & "mehr"';
    const made = await run(['node', 'new', 'a/b/Some Dir', '--id', 'some-id', '--title', title]);
    expect(made.code).toBe(0);
    expect(JSON.parse(readFileSync(join(dir, 'a/b/Some Dir/node.json'), 'utf8'))).toMatchObject({
      id: 'some-id',
      title,
    });
    expect((await run(['node', 'run', 'a/b/Some Dir', '--trial', '--fixture', 'basic'])).code).toBe(0);
  });

  it('fills an empty directory without replacing it, and the one it stands in', async () => {
    const { dir, run } = cli();
    const empty = join(dir, 'empty-one');
    mkdirSync(empty, { mode: 0o750 });
    const { ino } = statSync(empty);
    const made = await run(['node', 'new', '.'], { cwd: empty });
    expect(made.code).toBe(0);
    expect({ ino: statSync(empty).ino, mode: statSync(empty).mode & 0o777 }).toEqual({ ino, mode: 0o750 });
    expect(readdirSync(empty)).toContain('node.json');
    expect(readdirSync(empty).filter((name) => name.startsWith('.node-new'))).toEqual([]);
    expect((await run(['node', 'run', '.', '--trial', '--fixture', 'basic'], { cwd: empty })).code).toBe(0);
  });

  it('completes what a crash left in a directory that was empty, and nothing else', async () => {
    const { dir, run } = cli();
    const dead = '00000000-0000-4000-8000-000000000000.4026531836.1.1.0123456789abcdef';
    const half = join(dir, 'half-made');
    mkdirSync(join(half, `.node-new.${dead}`, 'src'), { recursive: true });
    writeFileSync(join(half, 'README.md'), 'moved before the crash');
    expect((await run(['node', 'new', half])).code).toBe(0);
    expect(readFileSync(join(half, 'README.md'), 'utf8')).toBe('moved before the crash');
    expect(readdirSync(half)).toEqual(expect.arrayContaining(['node.json', 'src', 'package.json']));
    expect(readdirSync(half).join()).not.toContain('node-new');

    const foreign = join(dir, 'foreign');
    mkdirSync(join(foreign, `.node-new.${dead}`), { recursive: true });
    writeFileSync(join(foreign, 'mine.txt'), 'of somebody else');
    const refused = await run(['node', 'new', foreign, '--json']);
    expect({ code: refused.code, error: refused.json().error?.code }).toEqual({ code: 2, error: 'ALREADY_EXISTS' });
    expect(readFileSync(join(foreign, 'mine.txt'), 'utf8')).toBe('of somebody else');
    expect(existsSync(join(foreign, 'node.json'))).toBe(false);
  });
});

let directories = 0;
describe.concurrent('glovebox node new, given', () => {
  it.each<[string, (dir: string) => string[], string]>([
    ['a directory that is not empty', (dir) => [mkfile(join(dir, 'full', 'x')) && join(dir, 'full')], 'ALREADY_EXISTS'],
    ['a file', (dir) => [mkfile(join(dir, 'a-file'))], 'ALREADY_EXISTS'],
    ['a link to nowhere', (dir) => [mklink(join(dir, 'dangling'), '/nonexistent/x')], 'ALREADY_EXISTS'],
    ['something below a file', (dir) => [join(mkfile(join(dir, 'b-file')), 'inside')], 'TARGET_UNUSABLE'],
    ['a place where nothing can be made', () => ['/proc/some-node'], 'TARGET_UNUSABLE'],
    ['a name that is no id', (dir) => [join(dir, 'No Id')], 'USAGE'],
    ['an id that begins with a digit', (dir) => [join(dir, 'fine'), '--id', '1abc'], 'USAGE'],
    ['an id that is too short', (dir) => [join(dir, 'ab')], 'USAGE'],
    ['an id that is too long', (dir) => [join(dir, 'fine'), '--id', 'a'.repeat(65)], 'USAGE'],
    ['an id with a slash', (dir) => [join(dir, 'fine'), '--id', 'a/../b'], 'USAGE'],
    ['an empty title', (dir) => [join(dir, 'fine'), '--title', ''], 'USAGE'],
    ['a title that is too long', (dir) => [join(dir, 'fine'), '--title', 'x'.repeat(121)], 'USAGE'],
    ['a title with control characters', (dir) => [join(dir, 'fine'), '--title', 'a\u001b[2Jb'], 'USAGE'],
    ['no directory', () => [], 'USAGE'],
    ['two directories', (dir) => [join(dir, 'fine'), join(dir, 'fine2')], 'USAGE'],
    ['an empty name', () => [''], 'USAGE'],
  ])('refuses %s and changes nothing', async (_, argumentsIn, code) => {
    const dir = join(cli().dir, `refusing-${directories++}`);
    mkdirSync(dir);
    const args = argumentsIn(dir);
    const before = listTree(dir);
    const refused = await cli().run(['node', 'new', ...args, '--json'], { cwd: dir });
    expect({ code: refused.code, error: refused.json().error?.code }).toEqual({ code: 2, error: code });
    expect(refused.json().error?.hint).toMatch(/./);
    expect(listTree(dir)).toEqual(before);
  });
});

describe('glovebox node refresh', () => {
  it('writes what git ignores again, after a clone', async () => {
    const { dir, run } = cli();
    const target = join(dir, 'cloned');
    expect((await run(['node', 'new', target])).code).toBe(0);
    const read = () => readFileSync(join(target, '.glovebox/node.schema.json'), 'utf8');
    const schema = read();
    rmSync(join(target, '.glovebox'), { recursive: true });
    rmSync(join(target, 'node_modules'), { recursive: true });
    expect((await run(['node', 'refresh', target])).code).toBe(0);
    expect(read()).toBe(schema);
    writeFileSync(join(target, '.glovebox/node.schema.json'), 'old');
    expect((await run(['node', 'refresh', target])).code).toBe(0);
    expect(read()).toBe(schema);
    expect(runTests(target)).toEqual({ status: 0, failed: 0, passed: expect.any(Number) });
  });

  it('refuses a directory that is no package, and follows no link in one', async () => {
    const { dir, run } = cli();
    const refused = await run(['node', 'refresh', dir, '--json']);
    expect({ code: refused.code, error: refused.json().error?.code }).toEqual({
      code: 2,
      error: 'PACKAGE_FILE_MISSING',
    });
    const target = join(dir, 'linked');
    mkdirSync(join(dir, 'elsewhere'));
    mkfile(join(target, 'node.json'));
    mklink(join(target, '.glovebox'), join(dir, 'elsewhere'));
    const linked = await run(['node', 'refresh', target, '--json']);
    expect({ code: linked.code, error: linked.json().error?.code }).toEqual({ code: 2, error: 'PACKAGE_FILE_REFUSED' });
    expect(readdirSync(join(dir, 'elsewhere'))).toEqual([]);
  });
});

describe.concurrent('the command line itself', () => {
  it('tells its version in every form', async () => {
    const { version } = JSON.parse(readFileSync(new URL('../../apps/cli/package.json', import.meta.url), 'utf8'));
    for (const args of [['--version'], ['-V'], ['--version', '--quiet'], ['-q', '-V']]) {
      const { code, stdout } = await cli().run(args);
      expect({ code, stdout }).toEqual({ code: 0, stdout: `glovebox ${version}\n` });
    }
    expect((await cli().run(['--version', '--json'])).json()).toEqual({ version });
  });

  it('lists every command, and tells of each what it takes', async () => {
    const overview = await cli().run([]);
    expect(overview.code).toBe(0);
    expect((await cli().run(['--help'])).stdout).toBe(overview.stdout);
    expect((await cli().run(['help'])).stdout).toBe(overview.stdout);
    for (const command of commands) {
      expect(overview.stdout).toContain(`  ${command.name}`);
      const words = command.name.split(' ');
      const { code, stdout, stderr } = await cli().run([...words, '--help']);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(stdout).toContain(`Usage: glovebox ${command.name}`);
      expect(stdout).toContain(command.summary);
      for (const [name, { value }] of Object.entries(command.options))
        expect(stdout).toContain(`--${name}${value === undefined ? '' : ` ${value}`}`);
    }
    expect((await cli().run(['help', 'node', 'run'])).stdout).toBe((await cli().run(['node', 'run', '-h'])).stdout);
    const group = await cli().run(['node']);
    expect(group.code).toBe(0);
    expect(group.stdout).toContain('glovebox node <command>');
    expect(group.stdout).not.toContain('image build');
  });

  it.each([
    [['nod', 'run'], /nod is not a command; did you mean node/],
    [['node', 'rum'], /node rum is not a command; did you mean node run/],
    [['node', 'frobnicate'], /is not a command; there is node new, node refresh, node run/],
    [['list'], /list is not a command; did you mean node list, run list, audit list/],
    [['help', 'verfy'], /verfy is not a command; did you mean verify/],
    [['xyzzy'], /xyzzy is not a command\./],
    [['--nope', 'run', 'list'], /--nope before a command is not an option/],
    [['node', 'run', '.', '--trail'], /--trail is not an option of glovebox node run; did you mean --trial/],
    [['run', 'list', '--limt', '3'], /did you mean --limit/],
    [['run', 'list', '-x'], /-x is not an option/],
    [['run', 'list', '--limit'], /--limit needs a value/],
    [['run', 'list', '--limit', '-3'], /--limit begins with a hyphen; write --limit=VALUE/],
    [['run', 'list', '--quiet=yes'], /--quiet takes no value/],
    [['run', 'list', 'extra'], /extra is one argument too many/],
    [['run', 'show'], /glovebox run show needs <run>/],
    [['run', 'list', '--json=xml'], /--json=xml is not known/],
    [['verify'], /needs <file\|run\|ref>/],
    [['--data-dir', '', 'run', 'list'], /data directory is an empty string/],
    [['run', 'list', '--data-dir='], /data directory is an empty string/],
  ])('says what is wrong with %j', async (args, message) => {
    const { code, stdout, stderr } = await cli().run(args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^error USAGE: /);
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^ {2}hint: /m);
  });

  it('explains every code, however it is spelled, and names the nearest to one that it does not know', async () => {
    const { code, json } = await cli().run(['explain', 'timed-out', '--json']);
    expect(code).toBe(0);
    const { exit, kind, summary, hint } = errorCatalogue.TIMED_OUT;
    expect(json()).toEqual({ code: 'TIMED_OUT', exit, kind, summary, hint });
    expect((await cli().run(['explain', 'INTERNAL'])).stdout).toMatch(/^INTERNAL {2}.*\n {2}hint {2}Report it/);
    const unknown = await cli().run(['explain', 'TIMD_OUT', '--json']);
    expect({ code: unknown.code, error: unknown.json().error?.code }).toEqual({ code: 2, error: 'NOT_FOUND' });
    expect(unknown.json().error?.hint).toContain('TIMED_OUT');
  });

  it('takes the options of every command before it and after it', async () => {
    const { dataDir, run } = cli();
    for (const args of [
      ['--data-dir', dataDir, 'run', 'list', '--json'],
      [`--data-dir=${dataDir}`, '--json', 'run', 'list'],
      ['run', '--json', 'list', '--data-dir', dataDir],
    ]) {
      const { code, json } = await run(args, { env: { GLOVEBOX_DATA_DIR: '/nonexistent' } });
      expect(code).toBe(0);
      expect(json()).toHaveProperty('runs');
    }
    // The value of an option is not taken for a word of the command.
    const named = await run(['--data-dir', join(cli().dir, 'run'), 'init', '--json']);
    expect(named.json()).toMatchObject({ dataDir: join(cli().dir, 'run') });
  });

  it('has a summary, a hint and an exit status for each code that it may end with', () => {
    for (const { exit, summary, hint } of Object.values(errorCatalogue)) {
      expect([1, 2, 3, 4, 70, 130]).toContain(exit);
      expect(summary).toMatch(/\.$/);
      expect(hint).toMatch(/\S/);
    }
  });

  const oldNode =
    spawnSync('/usr/bin/node', ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout?.trim() ?? '';
  it.skipIf(!/^2[0-3]\./.test(oldNode))('runs under an older Node.js by handing over to the pinned one', async () => {
    const bin = fileURLToPath(new URL('../../apps/cli/bin/glovebox.mjs', import.meta.url));
    const { status, stdout } = spawnSync('/usr/bin/node', [bin, 'run', 'list', '--json'], {
      env: {
        PATH: process.env.PATH,
        HOME: cli().dir,
        GLOVEBOX_DATA_DIR: cli().dataDir,
        NODE_OPTIONS: '--no-such-flag-here=1',
      },
      encoding: 'utf8',
    });
    // Node.js itself refuses flags that it does not know, before the launcher runs.
    expect(status).not.toBe(0);
    const clean = spawnSync('/usr/bin/node', [bin, 'run', 'list', '--json'], {
      env: {
        PATH: process.env.PATH,
        HOME: cli().dir,
        GLOVEBOX_DATA_DIR: cli().dataDir,
        NODE_OPTIONS: '--max-old-space-size=64',
      },
      encoding: 'utf8',
    });
    expect(stdout).toBe('');
    expect(clean.status).toBe(0);
    expect(JSON.parse(clean.stdout)).toHaveProperty('runs');
  });
});

/** As `npm test` does. */
function runTests(dir: string): { status: number | null; passed: number; failed: number } {
  const script = (JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8')) as { scripts: { test: string } }).scripts
    .test;
  const { status, stdout } = spawnSync(process.execPath, [...script.split(' ').slice(1), '--test-reporter=tap'], {
    cwd: dir,
    env: { PATH: process.env.PATH },
    encoding: 'utf8',
  });
  const count = (what: string): number => Number(new RegExp(`^# ${what} (\\d+)`, 'm').exec(stdout)?.[1]);
  return { status, passed: count('pass'), failed: count('fail') };
}

function mkfile(path: string): string {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, 'x');
  chmodSync(path, 0o644);
  return path;
}

function mklink(path: string, target: string): string {
  symlinkSync(target, path);
  return path;
}
