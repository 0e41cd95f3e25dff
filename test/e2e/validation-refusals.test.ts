import { createHash } from 'node:crypto';
import type { Draft } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { useEngine } from '../support/use-engine.ts';
import { goodPackage, putFiles, told, type Validation, validateFiles } from '../support/validation.ts';

const engine = useEngine();
const base = goodPackage();
const text = (path: string): string => `${base.get(path)}`;
const manifest = (more: object): string => JSON.stringify({ ...JSON.parse(text('node.json')), ...more });
const packageJson = (more: object): string => JSON.stringify({ ...JSON.parse(text('package.json')), ...more });

async function validated(files: { [path: string]: string | Uint8Array | null }): Promise<Validation> {
  const validation = await validateFiles(engine().engine, goodPackage(files));
  expect(await unfinished()).toEqual([]);
  return validation;
}

const unfinished = async (): Promise<Draft[]> =>
  (await engine().engine.drafts.list({ project: 'default', limit: 100 })).filter(({ state }) => state === 'validating');

describe('files that are no set of plain files are not even registered:', () => {
  const many = Object.fromEntries(Array.from({ length: 257 }, (_, i) => [`data/${i}.txt`, 'x']));
  const cases: [string, { [path: string]: string | Uint8Array | null }, string][] = [
    ['more than 256 of them', many, 'PACKAGE_TOO_LARGE'],
    ['one of 3 MiB', { 'data.bin': new Uint8Array(3 << 20) }, 'PACKAGE_TOO_LARGE'],
    ['names that differ in case alone', { 'src/Add.ts': '' }, 'PACKAGE_NAME_REFUSED'],
    ['a name that is no Unicode', { 'src/\ud800.ts': '' }, 'PACKAGE_NAME_REFUSED'],
    ['a path out of the package', { '../evil.ts': '' }, 'PACKAGE_NAME_REFUSED'],
    ['committed packages', { 'node_modules/a/index.js': '' }, 'PACKAGE_FILE_REFUSED'],
    ['a committed build', { 'dist/index.js': '' }, 'PACKAGE_FILE_REFUSED'],
    ['no id and no version', { 'node.json': '{}', 'package.json': '{}' }, 'PACKAGE_JSON_INVALID'],
  ];
  it.each(cases)('%s', async (_name, files, rule) => {
    const own = { ...files, 'package.json': files['package.json'] ?? packageJson({ version: '9.9.9' }) };
    const error = await putFiles(engine().engine, goodPackage(own)).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'PACKAGE_INVALID' });
    const { findings } = (error as { details: { findings: { rule: string }[] } }).details;
    expect(findings.map((finding) => finding.rule)).toContain(rule);
    const draft = await engine().engine.drafts.get('default', 'adder');
    expect(draft?.draft.version).not.toBe('9.9.9');
  });
});

describe('a package that is wrong as it stands fails before any cell boots:', () => {
  const lock = (entry: object, specs: object = { dep: '1.0.0' }) => ({
    'package.json': packageJson({ dependencies: specs }),
    'package-lock.json': JSON.stringify({
      lockfileVersion: 3,
      packages: { '': { dependencies: specs }, 'node_modules/dep': { version: '1.0.0', ...entry } },
    }),
  });
  const integrity = `sha512-${createHash('sha512').update('x').digest('base64')}`;
  const cases: [string, { [path: string]: string | null }, string[]][] = [
    [
      'memory above the maximum',
      { 'node.json': manifest({ resources: { memory: '4096MiB' } }) },
      ['manifest MANIFEST_INVALID node.json:1'],
    ],
    ['an unknown field', { 'node.json': manifest({ nodeType: 'x' }) }, ['manifest MANIFEST_INVALID node.json:1']],
    [
      'a schema with a keyword that there is not',
      { 'node.json': manifest({ output: { $dynamicRef: '#a' } }) },
      ['manifest SCHEMA_UNSUPPORTED node.json:1'],
    ],
    ['no fixture', { 'fixtures/basic.json': null }, ['package FIXTURE_MISSING fixtures']],
    [
      'a range in place of a version',
      lock({ integrity }, { dep: '^1.0.0' }),
      ['package PACKAGE_JSON_INVALID package.json:1'],
    ],
    ['no integrity', lock({}), ['lockfile LOCKFILE_ENTRY_REFUSED package-lock.json:1']],
    [
      'another registry',
      lock({ integrity, resolved: 'https://evil.example/dep/-/dep-1.0.0.tgz' }),
      ['lockfile LOCKFILE_ENTRY_REFUSED package-lock.json:1'],
    ],
    [
      'an install script',
      lock({ integrity, hasInstallScript: true }),
      ['lockfile LOCKFILE_ENTRY_REFUSED package-lock.json:1'],
    ],
    ['an alias', lock({ integrity, name: 'other' }), ['lockfile LOCKFILE_ENTRY_REFUSED package-lock.json:1']],
    [
      'no lockfile',
      { 'package.json': packageJson({ dependencies: { dep: '1.0.0' } }) },
      ['lockfile LOCKFILE_MISSING package-lock.json'],
    ],
    [
      'all of it at once',
      {
        'node.json': manifest({ x: 1, output: { $dynamicRef: '#a' } }),
        'package.json': packageJson({ license: undefined }),
        'fixtures/basic.json': null,
      },
      [
        'package FIXTURE_MISSING fixtures',
        'package PACKAGE_JSON_INVALID package.json:1',
        'manifest MANIFEST_INVALID node.json:1',
      ],
    ],
  ];
  it.each(cases)('%s', async (_name, files, expected) => {
    const before = engine().boots.length;
    const { draft, report, artifact, states } = await validated(files);
    expect(told(report.findings)).toEqual(expected);
    expect([draft.state, draft.artifact, artifact, report.valid]).toEqual(['failed', null, null, false]);
    const checks = new Set(expected.map((finding) => finding.split(' ')[0]));
    for (const check of ['package', 'manifest', 'lockfile'])
      expect(states[check], check).toBe(checks.has(check) ? 'failed' : 'passed');
    for (const check of ['types', 'build', 'tests', 'fixtures']) expect(states[check], check).toBe('skipped');
    expect(engine().boots.length).toBe(before);
  });
});

describe('what only shows in a cell', () => {
  it('is told all at once: of types, whatever the scripts of the package do, of tests and of fixtures', async () => {
    const { draft, report, artifact, states } = await validated({
      'package.json': packageJson({ scripts: { typecheck: 'true', test: 'true', build: 'true' } }),
      'src/add.ts':
        'export const add = (a: number, b: number): number => {\n  const sum: string = a - b;\n  return sum;\n};\n',
      'fixtures/second.json': '{\n  "input": { "a": 1, "b": 0 },\n  "expect": { "output": { "sum": 1 } }\n}',
      'fixtures/third.json': '{\n  "input": { "a": 1 },\n  "expect": { "output": { "sum": 1 } }\n}',
      'fixtures/fourth.json': '{\n  "input": { "a": 1 },\n  "expect": { "error": "INPUT_INVALID" }\n}',
    });
    expect(states).toMatchObject({ types: 'failed', build: 'passed', tests: 'failed', fixtures: 'failed' });
    expect([draft.state, artifact]).toEqual(['failed', null]);
    const findings = told(report.findings);
    expect(findings).toContain('types TYPES_FAILED src/add.ts:2');
    expect(findings.filter((finding) => finding.startsWith('tests'))).toEqual([
      expect.stringMatching(/^tests TESTS_FAILED test\/add\.test\.ts/),
    ]);
    expect(findings.filter((finding) => finding.startsWith('fixtures'))).toEqual([
      'fixtures FIXTURE_DIFFERS fixtures/basic.json:1',
      'fixtures INPUT_INVALID fixtures/third.json:2',
    ]);
    const differs = report.findings.find(({ rule }) => rule === 'FIXTURE_DIFFERS');
    expect(differs).toMatchObject({ path: '/expect/output/sum', message: 'basic: /sum: expected 3, but it is -1' });
  });

  it.each([
    [
      'TESTS_MUTATE',
      "import fs from 'node:fs';\nimport { test } from 'node:test';\ntest('x', () => fs.writeFileSync(new URL('../src/add.ts', import.meta.url), ''));\n",
    ],
    ['TESTS_BROKEN_OFF', "import { test } from 'node:test';\ntest('x', () => process.exit(0));\n"],
  ])('is what tests do besides: %s', async (rule, test) => {
    const { draft, report, states, artifact } = await validated({ 'test/add.test.ts': test });
    expect(states).toMatchObject({ types: 'passed', tests: 'failed' });
    expect(report.findings.map((finding) => `${finding.check} ${finding.rule}`)).toContain(`tests ${rule}`);
    expect([draft.state, artifact]).toEqual(['failed', null]);
  });

  it('is an error of the bundler, with file and line; fixtures are skipped then', async () => {
    const { draft, report, states } = await validated({
      'src/index.ts': `import { nothing } from './nowhere.ts';\n${text('src/index.ts')}export const used = nothing;\n`,
    });
    expect(states).toMatchObject({ build: 'failed', fixtures: 'skipped' });
    expect(told(report.findings)).toContain('build BUILD_FAILED src/index.ts:1');
    expect(draft.state).toBe('failed');
  });

  it('is code of tests and fixtures in the bundle', async () => {
    const { report, states } = await validated({
      'test/helper.ts': 'export const helper = 1;\n',
      'src/add.ts': `import { helper } from '../test/helper.ts';\nexport const add = (a: number, b: number): number => a + b + helper - 1;\n`,
    });
    expect(states).toMatchObject({ types: 'passed', build: 'failed' });
    expect(told(report.findings)).toEqual(['build BUILD_FAILED src/add.ts:1']);
  });

  it('is an output out of its schema, whatever the fixture expects, and a member called __proto__', async () => {
    const { report } = await validated({
      'src/index.ts': [
        "import { defineNode } from '@glovebox/sdk';",
        'export default defineNode<{ a: number; b: number }, object, unknown>(async (ctx) => {',
        '  if (ctx.input.a === 0) return { total: 1 };',
        `  return JSON.parse('{"sum":3,"__proto__":{"x":1}}');`,
        '});',
      ].join('\n'),
      'fixtures/out.json': JSON.stringify({ input: { a: 0, b: 0 }, expect: { error: 'OUTPUT_INVALID' } }),
      'fixtures/proto.json': '{"input":{"a":1,"b":2},"expect":{"output":{"sum":3,"__proto__":{"x":1}}}}',
    });
    expect(told(report.findings)).toEqual([
      'fixtures FIXTURE_DIFFERS fixtures/basic.json:1',
      'fixtures OUTPUT_INVALID fixtures/out.json:1',
    ]);
  });
});
