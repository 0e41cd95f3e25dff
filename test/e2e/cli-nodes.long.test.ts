import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { checkIds, errorCatalogue } from '@glovebox/contract';
import { describe, expect, it, vi } from 'vitest';
import { mkfifoSync } from '../support/fifo.ts';
import { hostile, raw } from '../support/hostile-text.ts';
import { jsonOf, usePackages } from '../support/use-packages.ts';

vi.setConfig({ testTimeout: 240_000 });

const { cli, write, validate, run } = usePackages();
const digest = /^sha256:[0-9a-f]{64}$/;
const spinning = "import { test } from 'node:test';\ntest('never ends', () => { for (;;); });\n";

async function stateOf(id: string): Promise<string | undefined> {
  const { nodes } = (await run('node', 'list', '--json')).json() as unknown as {
    nodes: { id: string; draft: { state: string } | null }[];
  };
  return nodes.find((node) => node.id === id)?.draft?.state;
}

describe('glovebox node validate', () => {
  it('passes what node new wrote, and the second time takes everything from the cache', async () => {
    expect((await run('node', 'new', 'fresh')).code).toBe(0);
    const first = await validate('fresh');
    expect({ code: first.code, stderr: first.stderr }).toEqual({ code: 0, stderr: '' });
    const { document } = first;
    expect(Object.keys(document)).toEqual(['draft', 'state', 'artifact', 'checks', 'findings']);
    expect(document).toMatchObject({
      draft: { project: 'default', id: 'fresh', revision: expect.stringMatching(digest) },
      state: 'passed',
      artifact: expect.stringMatching(digest),
      findings: [],
    });
    expect(document.checks.map(({ id }) => id)).toEqual([...checkIds]);
    for (const { state, durationMs, cached, findings } of document.checks)
      expect({ state, cached, findings, timed: durationMs >= 0 }).toEqual({
        state: 'passed',
        cached: false,
        findings: 0,
        timed: true,
      });

    const second = await validate('fresh');
    expect(second.document.checks.every(({ cached }) => cached)).toBe(true);
    expect(second.document).toMatchObject({ draft: document.draft, artifact: document.artifact });
    const text = await run('node', 'validate', 'fresh');
    expect(text.code).toBe(0);
    expect(text.stdout).toMatch(/^passed {2}default\/fresh {2}7 passed\n {2}revision {2}sha256:/);
    expect(text.stderr.match(/✓ .*cached$/gm)).toHaveLength(checkIds.length);
  });

  it('tells each check as it begins and ends with --json=lines, and the result last', async () => {
    write('events');
    const { stdout, stderr, code } = await run('node', 'validate', 'events', '--json=lines');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const of = (name: string) => events.filter(({ event }) => event === name);
    expect(
      of('check-began')
        .map(({ id }) => id)
        .sort(),
    ).toEqual([...checkIds].sort());
    expect(
      of('check-ended')
        .map(({ result }) => (result as { id: string }).id)
        .sort(),
    ).toEqual([...checkIds].sort());
    expect(events.at(-1)).toMatchObject({ event: 'result', state: 'passed' });
    expect(events).toHaveLength(2 * checkIds.length + 1);
  });

  it('has nothing on stderr with --quiet, and needs no reader of its output', async () => {
    write('quiet');
    const quiet = await run('node', 'validate', 'quiet', '--quiet');
    expect({ code: quiet.code, stderr: quiet.stderr }).toEqual({ code: 0, stderr: '' });
    write('unread', { 'test/never.test.ts': spinning });
    const unread = await cli().run(['node', 'validate', 'unread', '--json=lines'], {
      onStart: ({ stdout }) => stdout?.once('data', () => stdout.destroy()),
    });
    // It is stopped as by Ctrl-C: nobody is left who could read of its end.
    expect(unread).toMatchObject({ code: 130, stderr: '' });
    expect(await stateOf('unread')).toBe('draft');
  });
});

interface Refused {
  /** Default 1. */
  exit?: number;
  check: string;
  rule: string;
  file?: string | null;
  line?: number;
  /** Of the state that the draft is left in; undefined: none was registered. */
  draft?: 'failed';
}

const lock = (id: string, entry: object) => ({
  'package.json': jsonOf(id, 'package.json', { dependencies: { dep: '1.0.0' } }),
  'package-lock.json': JSON.stringify(
    {
      lockfileVersion: 3,
      packages: { '': { dependencies: { dep: '1.0.0' } }, 'node_modules/dep': { version: '1.0.0', ...entry } },
    },
    undefined,
    2,
  ),
});
const integrity = `sha512-${Buffer.alloc(64, 1).toString('base64')}`;
const inPackage = { check: 'package', rule: 'PACKAGE_FILE_REFUSED' };
const tooLarge = { check: 'package', rule: 'PACKAGE_TOO_LARGE' };
const badName = { check: 'package', rule: 'PACKAGE_NAME_REFUSED' };
const inManifest = { check: 'manifest', file: 'node.json', draft: 'failed' } as const;
const inLockfile = { check: 'lockfile', file: 'package-lock.json', draft: 'failed' } as const;
const inTests = { check: 'tests', draft: 'failed' } as const;

const bad: [name: string, make: (id: string) => void, refused: Refused][] = [
  [
    '257-files',
    (id) => {
      const dir = write(id);
      mkdirSync(join(dir, 'data'));
      for (let i = 0; i < 257; i++) writeFileSync(join(dir, 'data', `${i}.txt`), 'x');
    },
    tooLarge,
  ],
  [
    'a-3-mib-file',
    (id) => writeFileSync(join(write(id), 'data.bin'), Buffer.alloc(3 << 20)),
    { ...tooLarge, file: 'data.bin' },
  ],
  ['a-link', (id) => symlinkSync('/etc/passwd', join(write(id), 'src/x.ts')), { ...inPackage, file: 'src/x.ts' }],
  ['a-pipe', (id) => mkfifoSync(join(write(id), 'src/pipe')), { ...inPackage, file: 'src/pipe' }],
  [
    'a-device',
    (id) => execFileSync('mknod', [join(write(id), 'src/zero'), 'c', '1', '5']),
    { ...inPackage, file: 'src/zero' },
  ],
  [
    'a-name-of-no-text',
    (id) =>
      writeFileSync(
        Buffer.concat([Buffer.from(`${join(write(id), 'src')}/`), Buffer.from([0xff, 0x2e, 0x74, 0x73])]),
        '',
      ),
    badName,
  ],
  ['names-of-one-case', (id) => writeFileSync(join(write(id), 'src/Add.ts'), ''), badName],
  [
    'no-manifest',
    (id) => rmSync(join(write(id), 'node.json')),
    { check: 'package', rule: 'PACKAGE_FILE_MISSING', file: 'node.json', draft: 'failed' },
  ],
  [
    'no-version',
    (id) => write(id, { 'package.json': '{}' }),
    { check: 'package', rule: 'PACKAGE_JSON_INVALID', file: 'package.json' },
  ],
  [
    'too-much-memory',
    (id) => write(id, { 'node.json': jsonOf(id, 'node.json', { resources: { memory: '64GiB' } }) }),
    { ...inManifest, rule: 'MANIFEST_INVALID' },
  ],
  [
    'a-foreign-keyword',
    (id) => write(id, { 'node.json': jsonOf(id, 'node.json', { output: { $dynamicRef: '#a' } }) }),
    { ...inManifest, rule: 'SCHEMA_UNSUPPORTED' },
  ],
  ['no-integrity', (id) => write(id, lock(id, {})), { ...inLockfile, rule: 'LOCKFILE_ENTRY_REFUSED', line: 9 }],
  [
    'another-registry',
    (id) => write(id, lock(id, { integrity, resolved: 'https://evil.example/dep/-/dep-1.0.0.tgz' })),
    { ...inLockfile, rule: 'LOCKFILE_ENTRY_REFUSED' },
  ],
  [
    'an-install-script',
    (id) => write(id, lock(id, { integrity, hasInstallScript: true })),
    { ...inLockfile, rule: 'LOCKFILE_ENTRY_REFUSED' },
  ],
  [
    'a-git-dependency',
    (id) =>
      write(id, {
        'package.json': jsonOf(id, 'package.json', { dependencies: { dep: 'git+https://evil.example/x.git' } }),
      }),
    { check: 'package', rule: 'PACKAGE_JSON_INVALID', file: 'package.json', draft: 'failed' },
  ],
  [
    'a-type-error',
    (id) =>
      write(id, {
        'package.json': jsonOf(id, 'package.json', { scripts: { typecheck: 'true', test: 'true', build: 'true' } }),
        'src/add.ts': "export const add = (a: number, b: number): number =>\n  a + b + 'x';\n",
      }),
    { check: 'types', rule: 'TYPES_FAILED', file: 'src/add.ts', line: 2, draft: 'failed' },
  ],
  [
    'a-broken-source',
    (id) => write(id, { 'src/add.ts': 'export const add = (a: number, b: number): number =>;\n' }),
    { check: 'build', rule: 'BUILD_FAILED', file: 'src/add.ts', line: 1, draft: 'failed' },
  ],
  [
    'a-failing-test',
    (id) =>
      write(id, {
        'test/bad.test.ts': "import { test } from 'node:test';\ntest('bad', () => {\n  throw new Error('x');\n});\n",
      }),
    { ...inTests, rule: 'TESTS_FAILED', file: 'test/bad.test.ts' },
  ],
  [
    'a-test-that-waits-for-ever',
    (id) =>
      write(id, {
        'test/bad.test.ts': "import { test } from 'node:test';\ntest('bad', () => new Promise(() => {}));\n",
      }),
    { ...inTests, rule: 'TESTS_FAILED', file: 'test/bad.test.ts' },
  ],
  [
    'a-test-that-leaves',
    (id) =>
      write(id, { 'test/bad.test.ts': "import { test } from 'node:test';\ntest('bad', () => process.exit(0));\n" }),
    { ...inTests, rule: 'TESTS_BROKEN_OFF' },
  ],
  [
    'a-test-that-writes',
    (id) =>
      write(id, {
        'test/bad.test.ts':
          "import fs from 'node:fs';\nimport { test } from 'node:test';\ntest('bad', () => fs.writeFileSync(new URL('../src/add.ts', import.meta.url), ''));\n",
      }),
    { ...inTests, rule: 'TESTS_MUTATE' },
  ],
  [
    'a-fixture-that-differs',
    (id) =>
      write(id, { 'fixtures/basic.json': '{ "input": { "a": 1, "b": 2 },\n  "expect": { "output": { "sum": 4 } } }' }),
    { check: 'fixtures', rule: 'FIXTURE_DIFFERS', file: 'fixtures/basic.json', line: 2, draft: 'failed' },
  ],
];

describe.concurrent('what is wrong with a package is told with its place and what to do, and nothing comes of it:', () => {
  it.each(bad)('%s', async (id, make, { exit = 1, check, rule, file, line, draft }) => {
    make(id);
    const { code, stderr, document } = await validate(id);
    expect({ code, stderr, artifact: document.artifact }).toEqual({ code: exit, stderr: '', artifact: null });
    const found = document.findings.find((finding) => finding.rule === rule && finding.check === check);
    expect(found).toMatchObject({
      severity: 'error',
      message: expect.stringMatching(/\S/),
      hint: expect.stringMatching(/\S/),
      ...(file === undefined ? {} : { file }),
      ...(line === undefined ? {} : { line }),
    });
    const result = document.checks.find((one) => one.id === check);
    expect(result?.state).toBe('failed');
    expect(document.checks.map((one) => one.id)).toEqual([...checkIds]);
    expect(result?.findings).toBe(document.findings.filter((finding) => finding.check === check).length);
    expect(document.state).toBe('failed');
    expect(document.draft === null).toBe(draft === undefined);
  });
});

describe('after that', () => {
  it('every one of them is a draft that has failed, or none at all, and nothing is released', async () => {
    const { nodes } = (await run('node', 'list', '--json')).json() as unknown as {
      nodes: { id: string; draft: { state: string } | null; releases: object[] }[];
    };
    for (const [id, , { draft }] of bad) {
      const node = nodes.find((one) => one.id === id);
      expect({ id, state: node?.draft?.state, releases: node?.releases ?? [] }).toEqual({
        id,
        state: draft,
        releases: [],
      });
    }
  });

  it.each([
    'a-link',
    'too-much-memory',
    'another-registry',
    'a-type-error',
    'a-failing-test',
    'a-fixture-that-differs',
  ])('the same is told to people, and nothing is published: %s', async (id) => {
    const { check, rule, file, line } = Object.fromEntries(bad.map(([name, , refused]) => [name, refused]))[
      id
    ] as Refused;
    const { code, stdout, stderr } = await run('node', 'publish', id);
    expect(code).toBe(1);
    expect(stdout).toMatch(new RegExp(`^error ${file}${line === undefined ? '' : `:${line}`}.* \\(${rule}\\)$`, 'm'));
    expect(stdout).toMatch(/^ {2}hint: \S/m);
    expect(stderr).toMatch(new RegExp(`^ {2}✗ ${check} .*\\d findings?$`, 'm'));
    expect(stderr).toContain(`error VALIDATION_FAILED: ${id} did not pass; nothing was published.`);
  });

  it('publishing tells programs the same as validating', async () => {
    const published = await run('node', 'publish', 'a-foreign-keyword', '--json');
    const { error, findings } = published.json() as unknown as { error: { code: string }; findings: object[] };
    expect({ code: published.code, error: error.code }).toEqual({ code: 1, error: 'VALIDATION_FAILED' });
    expect(findings).toEqual((await validate('a-foreign-keyword')).document.findings);
  });
});

describe('a path that is no package directory', () => {
  it.each([
    ['nowhere', 'NOT_FOUND'],
    ['a-file', 'PACKAGE_INVALID'],
  ])('%s is a slip of the command line, for every command that takes one', async (name, code) => {
    writeFileSync(join(cli().dir, 'a-file'), '');
    for (const command of [['validate'], ['publish', './'], ['dev']]) {
      const [verb = '', prefix = ''] = command;
      const ran = await run('node', verb, `${prefix}${name}`, verb === 'dev' ? '--json=lines' : '--json');
      const [line = ''] = verb === 'dev' ? ran.stdout.trim().split('\n') : [ran.stdout];
      expect({ verb, exit: ran.code, code: JSON.parse(line).error.code }).toEqual({ verb, exit: 2, code });
      expect(JSON.parse(line).error.hint).toMatch(/directory/);
    }
  });
});

describe('a validation that goes on', () => {
  it('keeps a second one out, and ends with 130 on Ctrl-C: a draft again, with no cell left', async () => {
    write('held', { 'test/never.test.ts': spinning });
    const holding = cli().start(['node', 'validate', 'held', '--json=lines']);
    await holding.seen('stdout', /"id":"types","state":"passed"/);
    expect(await stateOf('held')).toBe('validating');

    const second = await run('node', 'validate', 'held', '--json');
    expect({ code: second.code, error: second.json().error }).toMatchObject({
      code: errorCatalogue.DRAFT_BUSY.exit,
      error: { code: 'DRAFT_BUSY', hint: expect.stringMatching(/\S/) },
    });
    const published = await run('node', 'publish', 'default-of-nobody', '--json');
    expect(published.json().error?.code).toBe('NOT_FOUND');
    expect(holding.child.exitCode).toBeNull();

    holding.child.kill('SIGINT');
    const { code, stdout, stderr } = await holding.done;
    expect({ code, stderr }).toEqual({ code: 130, stderr: '' });
    const last = JSON.parse(stdout.trimEnd().split('\n').at(-1) ?? '');
    expect(last).toMatchObject({ event: 'result', state: 'draft', artifact: null });
    expect(last.checks.find(({ id }: { id: string }) => id === 'tests').state).toBe('cancelled');
    expect(await stateOf('held')).toBe('draft');
    expect(cli().residue()).toEqual([]);

    rmSync(join(cli().dir, 'held', 'test/never.test.ts'));
    expect((await validate('held')).document.state).toBe('passed');
  });

  it('is stopped before anything is published', async () => {
    write('stopped', { 'test/never.test.ts': spinning });
    const publishing = cli().start(['node', 'publish', 'stopped']);
    await publishing.seen('stderr', /✓ types/);
    publishing.child.kill('SIGINT');
    const { code, stderr } = await publishing.done;
    expect(code).toBe(130);
    expect(stderr).toContain('error INTERRUPTED: stopped did not pass; nothing was published.');
    expect(await stateOf('stopped')).toBe('draft');
    expect(cli().residue()).toEqual([]);
  });
});

describe('text of an author', () => {
  it('is shown and not obeyed, in titles, findings, test names and file names', async () => {
    const quoted = JSON.stringify(hostile);
    write('hostile-title', {
      'node.json': jsonOf('hostile-title', 'node.json', { title: hostile, description: hostile }),
    });
    write('hostile-field', { 'node.json': jsonOf('hostile-field', 'node.json', { [hostile]: 1 }) });
    write('hostile-test', {
      'src/add.ts': `export const add = (a: number, b: number): ${quoted} => (a + b) as never as 'x';\n`,
      'test/add.test.ts': `import { test } from 'node:test';\ntest(${quoted}, () => { throw new Error(${quoted}); });\n`,
      'fixtures/basic.json': `{ "input": { "a": 1, "b": 2 }, "expect": { "output": { "sum": ${quoted} } } }`,
    });
    writeFileSync(join(write('hostile-name'), 'src', 'x\u001b[2Jy.ts'), '');
    const names = ['title', 'field', 'test', 'name'].map((name) => `hostile-${name}`);
    const commands = [
      ...names.flatMap((name) =>
        [[name], [name, '--json'], [name, '--json=lines']].map((args) => ['node', 'validate', ...args]),
      ),
      ...names.map((name) => ['node', 'publish', name]),
      ['node', 'show', 'default/hostile-title'],
      ['node', 'list'],
      ['audit', 'list', '--json'],
      ['node', 'validate', 'no\u001b[2Jwhere'],
      ['node', 'publish', 'no\u001b[2Jwhere'],
      ['node', 'show', 'no\u001b[2Jwhere'],
      ['explain', 'no\u001b[2Jwhere'],
    ];
    let shown = 0;
    for (const args of commands) {
      const { stdout, stderr } = await run(...args);
      expect({ args, found: raw.exec(stdout + stderr)?.[0] }).toEqual({ args, found: undefined });
      if (`${stdout}${stderr}`.includes('\\u001b[2J')) shown++;
    }
    expect(shown).toBeGreaterThan(12);
  });
});

describe('glovebox node validate --fix', () => {
  it('makes the edits of findings, tells them and validates again; without it they are only told', async () => {
    const id = 'misspelt';
    const { title, ...rest } = JSON.parse(jsonOf(id, 'node.json', {}));
    const text = JSON.stringify({ titel: title, ...rest }, undefined, 2);
    const dir = write(id, { 'node.json': text });
    const without = await run('node', 'validate', id);
    expect(without.code).toBe(1);
    expect(without.stdout).toMatch(/^ {2}fix: .*title/m);
    expect(without.stdout).toContain('fixable   1: glovebox node validate --fix');
    expect(readFileSync(join(dir, 'node.json'), 'utf8')).toBe(text);

    const fixed = await run('node', 'validate', id, '--fix');
    expect(fixed.code).toBe(0);
    expect(fixed.stderr).toMatch(/^fixed node\.json: .*title/m);
    expect(readFileSync(join(dir, 'node.json'), 'utf8')).toBe(text.replace('titel', 'title'));
    const again = await validate(id, '--fix');
    expect({ code: again.code, fixes: again.document.fixes }).toEqual({ code: 0, fixes: [] });
  });

  it('does nothing to a package that cannot even be registered', async () => {
    symlinkSync('/etc/passwd', join(write('linked'), 'src/x.ts'));
    const { code, document } = await validate('linked', '--fix');
    expect({ code, fixes: document.fixes, there: existsSync(join(cli().dir, 'linked/src/x.ts')) }).toEqual({
      code: 1,
      fixes: [],
      there: true,
    });
  });
});
