import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { RunningCli } from '../support/cli.ts';
import { usePackages } from '../support/use-packages.ts';

vi.setConfig({ testTimeout: 240_000 });

const { cli, write, run } = usePackages();

interface DevEvent {
  event: string;
  trigger?: string;
  state?: string;
  output?: unknown;
  error?: { code: string } | null;
  part?: string;
  fixture?: { matches: boolean };
  findings?: { rule: string; file: string; line: number }[];
}

/** `node dev` on a package, and the events that it tells, one after another. */
class Dev {
  readonly running: RunningCli;
  #read = 0;

  constructor(name: string, ...more: string[]) {
    this.running = cli().start(['node', 'dev', name, '--json=lines', ...more]);
  }

  /** The next event of one of these names. What came before it is passed over. */
  async next(...names: string[]): Promise<DevEvent> {
    for (;;) {
      const [text] = await this.running.seen('stdout', new RegExp(`(?:.*\\n){${this.#read + 1}}`));
      const line = text.split('\n')[this.#read++] as string;
      const event = JSON.parse(line) as DevEvent;
      if (names.includes(event.event)) return event;
    }
  }

  /** What a round of this trigger comes to. */
  async round(trigger: 'start' | 'change'): Promise<{ fixture: DevEvent; validated: DevEvent }> {
    expect(await this.next('round')).toMatchObject({ trigger });
    return { fixture: await this.next('fixture', 'failure'), validated: await this.next('validated', 'failure') };
  }

  async stop(): Promise<void> {
    this.running.child.kill('SIGINT');
    const { code, stderr } = await this.running.done;
    expect({ code, stderr }).toEqual({ code: 130, stderr: '' });
    expect(cli().residue()).toEqual([]);
  }
}

const source = (expression: string): string => `export const add = (a: number, b: number): number => ${expression};\n`;

describe('glovebox node dev', () => {
  it('runs a fixture and validates at the start and after each save, whichever way an editor saves', async () => {
    const file = join(write('saved'), 'src/add.ts');
    const dev = new Dev('saved');
    const first = await dev.round('start');
    expect(first.fixture).toMatchObject({
      event: 'fixture',
      state: 'SUCCEEDED',
      output: { sum: 3 },
      fixture: { matches: true },
    });
    expect(first.validated).toMatchObject({ event: 'validated', state: 'passed' });

    writeFileSync(file, source('a - b'));
    const written = await dev.round('change');
    expect(written.fixture).toMatchObject({ state: 'SUCCEEDED', output: { sum: -1 }, fixture: { matches: false } });
    expect(written.validated).toMatchObject({ event: 'validated', state: 'failed' });
    expect(written.validated.findings?.map(({ rule }) => rule)).toContain('FIXTURE_DIFFERS');

    writeFileSync(`${file}~`, source('b + a'));
    renameSync(`${file}~`, file);
    const renamed = await dev.round('change');
    expect(renamed.fixture).toMatchObject({ state: 'SUCCEEDED', output: { sum: 3 } });
    expect(renamed.validated).toMatchObject({ event: 'validated', state: 'passed' });

    // A directory that was not there when it began, and a file in it.
    const dir = join(cli().dir, 'saved');
    mkdirSync(join(dir, 'src/deep'));
    writeFileSync(join(dir, 'src/deep/more.ts'), 'export const more = 1;\n');
    expect((await dev.round('change')).fixture).toMatchObject({ output: { sum: 3 } });
    writeFileSync(join(dir, 'src/deep/more.ts'), 'export const more = 2;\n');
    writeFileSync(file, `export { more } from './deep/more.ts';\n${source('b + a')}`);
    expect((await dev.round('change')).fixture).toMatchObject({ output: { sum: 3 } });
    writeFileSync(join(dir, 'src/deep/more.ts'), 'export const more = 3;\n');
    expect((await dev.round('change')).validated).toMatchObject({ state: 'passed' });
    await dev.stop();
  });

  it('tells a mistake in a source or in a fixture, and goes on', async () => {
    const dir = write('mistaken');
    const dev = new Dev('mistaken');
    await dev.round('start');
    writeFileSync(join(dir, 'src/add.ts'), source('a +'));
    const broken = await dev.round('change');
    expect(broken.fixture).toMatchObject({ event: 'failure', part: 'fixture', error: { code: 'BUILD_FAILED' } });
    expect(broken.validated).toMatchObject({ event: 'validated', state: 'failed' });
    expect(broken.validated.findings).toContainEqual(
      expect.objectContaining({ rule: 'BUILD_FAILED', file: 'src/add.ts', line: 1 }),
    );

    writeFileSync(join(dir, 'fixtures/basic.json'), '{');
    const noFixture = await dev.round('change');
    expect(noFixture.fixture).toMatchObject({ event: 'failure', part: 'fixture', error: { code: 'INPUT_NOT_JSON' } });

    write('mistaken');
    let mended = await dev.round('change');
    // Several files were written: the first of them may have been a round of its own.
    while (mended.validated.state !== 'passed') mended = await dev.round('change');
    expect(mended.fixture).toMatchObject({ state: 'SUCCEEDED', output: { sum: 3 } });
    await dev.stop();
  });

  it('gives up what it is at when another save comes: its cells are gone, and nothing more is told of it', async () => {
    const dir = write('hurried', {
      'src/add.ts': 'for (;;);\nexport const add = (a: number, b: number): number => a + b;\n',
    });
    const dev = new Dev('hurried');
    expect(await dev.next('round')).toMatchObject({ trigger: 'start' });
    // The fixture spins: without another save the round would last until the node's deadline.
    await vi.waitFor(() => expect(cli().residue()).not.toEqual([]), { timeout: 60_000, interval: 20 });
    writeFileSync(join(dir, 'src/add.ts'), source('a + b'));
    const events = [await dev.next('round', 'fixture', 'failure', 'validated')];
    expect(events).toMatchObject([{ event: 'round', trigger: 'change' }]);
    expect(await dev.next('fixture', 'failure')).toMatchObject({ event: 'fixture', output: { sum: 3 } });
    expect(await dev.next('validated', 'failure')).toMatchObject({ event: 'validated', state: 'passed' });
    expect(cli().residue()).toEqual([]);

    writeFileSync(
      join(dir, 'test/never.test.ts'),
      "import { test } from 'node:test';\ntest('x', () => { for (;;); });\n",
    );
    await dev.next('fixture');
    await dev.next('check-began');
    rmSync(join(dir, 'test/never.test.ts'));
    expect(await dev.next('round', 'validated', 'failure')).toMatchObject({ event: 'round', trigger: 'change' });
    expect(await dev.next('validated', 'failure')).toMatchObject({ event: 'validated', state: 'passed' });
    await dev.stop();
  });

  it('ends on Ctrl-C in the middle of a round, with the draft let go', async () => {
    write('left', { 'test/never.test.ts': "import { test } from 'node:test';\ntest('x', () => { for (;;); });\n" });
    const dev = new Dev('left');
    await dev.next('fixture');
    await dev.running.seen('stdout', /"id":"types","state":"passed"/);
    await dev.stop();
    const { nodes } = (await run('node', 'list', '--json')).json() as unknown as {
      nodes: { id: string; draft: { state: string } }[];
    };
    expect(nodes.find(({ id }) => id === 'left')?.draft.state).toBe('draft');
  });

  it('takes no notice of what editors and tools keep beside a file', async () => {
    const dir = write('beside');
    const dev = new Dev('beside');
    await dev.round('start');
    for (const name of ['src/.add.ts.swp', 'src/add.ts~', '.glovebox/x', 'node_modules/x', 'dist/x', '.git/x']) {
      mkdirSync(join(dir, name, '..'), { recursive: true });
      writeFileSync(join(dir, name), 'x');
    }
    for (const name of ['src/.add.ts.swp', 'src/add.ts~']) rmSync(join(dir, name));
    writeFileSync(join(dir, 'src/add.ts'), source('a - b'));
    expect((await dev.round('change')).fixture).toMatchObject({ output: { sum: -1 } });
    await dev.stop();
    const { stdout } = await dev.running.done;
    expect(stdout.match(/"event":"round"/g)).toHaveLength(2);
  });

  it('ends when the directory is gone', async () => {
    const dir = write('removed');
    const dev = new Dev('removed');
    await dev.round('start');
    renameSync(dir, `${dir}-elsewhere`);
    const { code, stdout } = await dev.running.done;
    const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
    expect({ code, last }).toMatchObject({ code: 2, last: { event: 'error', error: { code: 'NOT_FOUND' } } });
    expect(cli().residue()).toEqual([]);
  });

  it('ends where the host has no watch left, with nothing going on', async () => {
    write('unwatched');
    const through = ['unshare', '--user', '--map-root-user', 'sh', '-ec'];
    const without = 'echo 0 > /proc/sys/user/max_inotify_instances; exec "$@"';
    const ran = await cli().run(['node', 'dev', 'unwatched', '--json=lines'], { through: [...through, without, 'sh'] });
    const last = JSON.parse(ran.stdout.trimEnd().split('\n').at(-1) ?? '');
    expect({ code: ran.code, stderr: ran.stderr, last }).toMatchObject({
      code: 3,
      stderr: '',
      last: { event: 'error', error: { code: 'HOST_UNSUPPORTED', hint: expect.stringContaining('inotify') } },
    });
    expect(cli().residue()).toEqual([]);
  });

  it('wants live events or none, a fixture, and takes the one that is named', async () => {
    write('chosen', {
      'fixtures/second.json': '{ "input": { "a": 5, "b": 6 }, "expect": { "output": { "sum": 11 } } }',
    });
    const document = await run('node', 'dev', 'chosen', '--json');
    expect({ code: document.code, error: document.json().error?.code }).toEqual({ code: 2, error: 'USAGE' });
    const dev = new Dev('chosen', '--fixture', 'second');
    expect((await dev.round('start')).fixture).toMatchObject({ output: { sum: 11 } });
    await dev.stop();
    const none = await run('node', 'dev', write('none', { 'fixtures/basic.json': null }), '--json=lines');
    expect({ code: none.code, error: JSON.parse(none.stdout).error.code }).toEqual({
      code: 2,
      error: 'INPUT_UNREADABLE',
    });
  });

  it('tells people what came of each round', async () => {
    const dir = write('told');
    const dev = cli().start(['node', 'dev', 'told']);
    await dev.seen('stderr', /waiting for a change/);
    writeFileSync(join(dir, 'src/add.ts'), source('a +'));
    await dev.seen('stderr', /fixture basic: not run, BUILD_FAILED[\s\S]*waiting for a change/);
    await dev.seen('stdout', /^error src\/add\.ts:1:\d+ .*\(BUILD_FAILED\)$/m);
    dev.child.kill('SIGINT');
    const { code, stdout, stderr } = await dev.done;
    expect(code).toBe(130);
    expect(stdout).toMatch(/^passed {2}default\/told {2}7 passed$/m);
    expect(stderr).toMatch(/^SUCCEEDED {2}after /m);
    expect(stderr).toContain('fixture basic: as expected');
    expect(readFileSync(join(dir, 'src/add.ts'), 'utf8')).toBe(source('a +'));
  });
});
