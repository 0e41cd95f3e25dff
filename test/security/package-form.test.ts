import { execFileSync } from 'node:child_process';
import { chownSync, existsSync, linkSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ReportFinding } from '@glovebox/contract';
import { publishRelease } from '@glovebox/engine';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { mkfifoSync } from '../support/fifo.ts';
import { lineOf, lockedProject } from '../support/locked-packages.ts';
import { errorsIn, passed, refused, unregistered } from '../support/refused-packages.ts';
import { openRegistry } from '../support/registry.ts';
import { type CliHome, makeCliHome } from '../support/use-cli.ts';
import { useEngine } from '../support/use-engine.ts';
import { actor, filesOf, goodPackage, putFiles } from '../support/validation.ts';

vi.setConfig({ testTimeout: 120_000 });

const engine = useEngine();
const text = (path: string): string => `${goodPackage().get(path)}`;
const bundleOf = async (artifact: string): Promise<string> =>
  Buffer.from((await engine().engine.artifacts.load(artifact)).bundle).toString();

const made = mkdtempSync(join(tmpdir(), 'glovebox-form-'));
afterAll(() => rmSync(made, { recursive: true, force: true }));

function write(directory: string, files: ReadonlyMap<string, Uint8Array>): string {
  for (const [path, bytes] of files) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), bytes);
  }
  return directory;
}

describe('a directory', () => {
  let server: Server;
  let odd: string;
  let cli: CliHome;
  beforeAll(async () => {
    cli = await makeCliHome('none');
    odd = write(join(made, 'odd'), goodPackage({ 'Data.json': '{}', 'data.json': '{}' }));
    const elsewhere = join(made, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, 'theirs'), 'secret');
    chownSync(join(elsewhere, 'theirs'), 54_321, 54_321);
    symlinkSync(join(elsewhere, 'theirs'), join(odd, 'file-link'));
    symlinkSync(elsewhere, join(odd, 'directory-link'));
    symlinkSync('..', join(odd, 'parent-link'));
    symlinkSync('nowhere', join(odd, 'dangling-link'));
    symlinkSync('basic.json', join(odd, 'fixtures/inside-link.json'));
    linkSync(join(elsewhere, 'theirs'), join(odd, 'hard-link'));
    mkfifoSync(join(odd, 'pipe'));
    execFileSync('mknod', [join(odd, 'device'), 'c', '1', '5']);
    server = createServer();
    await new Promise<void>((resolve) => server.listen(join(odd, 'socket'), resolve));
    writeFileSync(Buffer.concat([Buffer.from(join(odd, 'not-')), Buffer.from([0xff, 0xfe])]), '');
  });
  afterAll(async () => {
    cli.remove();
    await new Promise((resolve) => server.close(resolve));
  });

  it('with links, pipes, sockets, devices and names that are none is told of all of them, and is not registered', async () => {
    const { code, json } = await cli.run(['node', 'validate', odd, '--json']);
    const { findings } = json() as unknown as { findings: ReportFinding[] };
    expect(code).toBe(1);
    const told = findings.map(({ rule, file }) => `${rule} ${file}`).sort();
    const refusedFiles = [
      'dangling-link',
      'device',
      'directory-link',
      'file-link',
      'fixtures/inside-link.json',
      'hard-link',
      'parent-link',
      'pipe',
      'socket',
    ];
    expect(told).toEqual(
      expect.arrayContaining([
        ...refusedFiles.map((file) => `PACKAGE_FILE_REFUSED ${file}`),
        expect.stringMatching(/^PACKAGE_NAME_REFUSED "?not-/),
        expect.stringMatching(/^PACKAGE_NAME_REFUSED [dD]ata\.json$/),
      ]),
    );
    expect(JSON.stringify(findings)).not.toContain('secret');
    expect((await cli.run(['node', 'list', '--json'])).json()).toEqual({ nodes: [] });
  });

  it('with plain files passes, and what tools have made in it is no part of it: the source is what runs', async () => {
    const plain = write(
      join(made, 'plain'),
      goodPackage({
        'dist/index.js': 'export default () => ({ sum: 666 });\n',
        'dist/index.js.map': '{}',
        'node_modules/@glovebox/sdk/index.js': 'export const defineNode = () => 666;\n',
        '.glovebox/types/sdk/index.d.ts': 'export declare const defineNode: 666;\n',
        '.git/config': '[core]\n  fsmonitor = touch /666\n',
      }),
    );
    const { artifact } = await passed(engine().engine, await filesOf(plain));
    expect(await bundleOf(artifact)).not.toContain('666');
    expect(artifact).toBe((await passed(engine().engine, {})).artifact);
  });
});

describe('what is not registered:', () => {
  const one = (path: string, bytes: Uint8Array | string = ''): [string, Uint8Array] => [path, Buffer.from(bytes)];
  const many = (count: number): [string, Uint8Array][] => Array.from({ length: count }, (_, i) => one(`data/${i}`));
  const size = goodPackage().size;
  it.each<[string, [string, Uint8Array][], RegExp]>([
    ['257 files', many(257 - size), /^PACKAGE_TOO_LARGE/],
    ['20,000 files', many(20_000), /^PACKAGE_TOO_LARGE/],
    ['a file of 2 MiB and a byte', [one('data', Buffer.alloc((2 << 20) + 1))], /^PACKAGE_TOO_LARGE data/],
    [
      'more than 32 MiB',
      Array.from({ length: 17 }, (_, i) => one(`data/${i}`, Buffer.alloc(2 << 20))),
      /^PACKAGE_TOO_LARGE/,
    ],
    ['a name of 256 bytes', [one('n'.repeat(256))], /^PACKAGE_NAME_REFUSED/],
    ['a path of 1025 bytes', [one(`${Array(5).fill('d'.repeat(204)).join('/')}/x`)], /^PACKAGE_NAME_REFUSED/],
    ['a path of 17 directories', [one(`${'d/'.repeat(17)}x`)], /^PACKAGE_/],
    ['a path that leads out', [one('src/../../evil')], /^PACKAGE_NAME_REFUSED/],
    ['an absolute path', [one('/etc/evil')], /^PACKAGE_NAME_REFUSED/],
    ['a name for another system', [one('src\\evil')], /^PACKAGE_NAME_REFUSED/],
    ['a name that reorders text', [one('src/\u202egnp.ts')], /^PACKAGE_NAME_REFUSED/],
    ['a package in it', [one('src/node_modules/a/index.js')], /^PACKAGE_FILE_REFUSED/],
    ['a path twice', [one('src/index.ts')], /^PACKAGE_NAME_REFUSED src\/index.ts/],
  ])('%s', async (_, more, told) => {
    const found = await unregistered(engine().engine, [...goodPackage(), ...more]);
    expect(found).toEqual(expect.arrayContaining([expect.stringMatching(told)]));
  });

  it.each(['../adder', 'a/b', '.hidden', 'ab', '1abc', 'A-b'])('an id that is none: %j', async (id) => {
    const as = (path: string): string => text(path).replace('"adder"', JSON.stringify(id));
    const found = await unregistered(
      engine().engine,
      goodPackage({ 'node.json': as('node.json'), 'package.json': as('package.json') }),
    );
    expect(found).toEqual(expect.arrayContaining([expect.stringMatching(/^MANIFEST_INVALID node.json:\d+$/)]));
  });

  it('and at the limits it is', async () => {
    const files = goodPackage({
      'data.bin': Buffer.alloc(2 << 20),
      [`${'d/'.repeat(16)}x`]: '',
      [`${'n'.repeat(255)}`]: '',
    });
    for (const [path, bytes] of many(256 - files.size)) files.set(path, bytes);
    await expect(putFiles(engine().engine, files)).resolves.toMatchObject({ state: 'draft' });
  });
});

describe('a manifest', () => {
  const manifest = JSON.parse(text('node.json')) as Record<string, unknown>;
  const withFields = (fields: object): string => JSON.stringify({ ...manifest, ...fields }, undefined, 2);
  const rule = { host: 'api.example.com', methods: ['GET'], paths: ['/'] };
  const http = (more: object) => ({ sideEffect: 'read', capabilities: { http: { rules: [rule], ...more } } });
  const slot = (more: object) => ({
    sideEffect: 'read',
    capabilities: { http: { rules: [rule] }, credentials: { api: { kinds: ['bearer'], hosts: [rule.host], ...more } } },
  });
  const nested = (levels: number): object =>
    levels === 0 ? {} : { type: 'object', properties: { a: nested(levels - 1) } };

  it.each<[path: string, fields: object]>([
    ['/schemaVersion', { schemaVersion: 2 }],
    ['/title', { title: '' }],
    ['/description', { description: 5 }],
    ['/category', { category: 'Über' }],
    ['/nodeType', { nodeType: 'adder' }],
    ['/input', { input: [] }],
    ['/config', { config: 'x' }],
    ['/output', { output: null }],
    ['/capabilities/files/maxCount', { capabilities: { files: { maxBytes: '1MiB', maxCount: 0 } } }],
    ['/capabilities/scratch/maxBytes', { capabilities: { scratch: { maxBytes: '1GiB' } } }],
    ['/capabilities/network', { capabilities: { network: true } }],
    ['/capabilities/http/rules', http({ rules: [] })],
    ['/capabilities/http/rules/0/host', http({ rules: [{ ...rule, host: '*' }] })],
    ['/capabilities/http/rules/0/host', http({ rules: [{ ...rule, host: '127.0.0.1' }] })],
    ['/capabilities/http/rules/0/scheme', http({ rules: [{ ...rule, scheme: 'ftp' }] })],
    ['/capabilities/http/rules/0/port', http({ rules: [{ ...rule, port: 0 }] })],
    ['/capabilities/http/rules/0/methods/0', http({ rules: [{ ...rule, methods: ['TRACE'] }] })],
    ['/capabilities/http/rules/0/paths/0', http({ rules: [{ ...rule, paths: ['v1'] }] })],
    ['/capabilities/http/maxRequests', http({ maxRequests: -1 })],
    ['/capabilities/http/maxResponseBytes', http({ maxResponseBytes: '10MB' })],
    ['/capabilities/http/maxRedirects', http({ maxRedirects: 11 })],
    ['/capabilities/credentials/api/kinds', slot({ kinds: [] })],
    ['/capabilities/credentials/api/hosts', slot({ hosts: [] })],
    ['/capabilities/credentials/api/hosts/0', slot({ hosts: ['*.example.com'] })],
    ['/capabilities/credentials/api/hosts/0', slot({ hosts: ['other.example.com'] })],
    ['/capabilities/credentials/api/reveal', slot({ reveal: 'yes' })],
    ['/sideEffect', { sideEffect: 'maybe' }],
    ['/idempotent', { idempotent: 'yes' }],
    ['/resources/cpu', { resources: { cpu: 64 } }],
    ['/resources/memory', { resources: { memory: '4096MiB' } }],
    ['/resources/pids', { resources: { pids: 1 } }],
    ['/resources/timeout', { resources: { timeout: '1h' } }],
    ['/resources/output', { resources: { output: '1' } }],
    ['/resources/logs', { resources: { logs: '17MiB' } }],
    ['/resources/gpu', { resources: { gpu: 1 } }],
    ['/output', { output: nested(9) }],
    ['/output/pattern', { output: { type: 'string', pattern: '(?=a)b' } }],
    ['/output/$ref', { output: { $ref: 'https://example.com/schema.json' } }],
  ])('with a wrong %s is told so at its line, and no cell boots', async (path, fields) => {
    const before = engine().boots.length;
    const node = withFields(fields);
    const { findings, states } = await refused(engine().engine, { 'node.json': node });
    const told = findings.filter(({ severity, check }) => severity === 'error' && check === 'manifest');
    expect(told.map((finding) => finding.path)).toContainEqual(
      expect.stringMatching(new RegExp(`^${path.replace('$', '\\$')}`)),
    );
    for (const { file, line } of told) {
      expect(file).toBe('node.json');
      expect(line).toBeGreaterThan(0);
      expect(line).toBeLessThanOrEqual(node.split('\n').length);
    }
    expect([states.manifest, states.package, engine().boots.length]).toEqual(['failed', 'passed', before]);
  });

  it('that uses every field well passes', async () => {
    const { findings } = await passed(engine().engine, {
      'node.json': withFields({
        ...slot({ required: false, reveal: false }),
        description: 'Adds',
        category: 'transform',
        idempotent: true,
        resources: { cpu: 1, memory: '96MiB', pids: 32, timeout: '5s', output: '64KiB', logs: '64KiB' },
      }),
    });
    expect(errorsIn(findings)).toEqual([]);
  });

  it('that requires what every object inherits holds an output to it', async () => {
    const { findings } = await refused(engine().engine, {
      'node.json': withFields({ output: { type: 'object', required: ['sum', 'toString'] } }),
    });
    expect(errorsIn(findings)).toEqual(['fixtures OUTPUT_INVALID fixtures/basic.json:1']);
    expect(findings[0]?.message).toContain('toString');
  });
});

describe('files that would change how a package is checked or built', () => {
  const evil = 'export const defineNode = (handler: unknown): unknown => (globalThis as any).evil ?? handler;\n';
  const recipes = {
    Dockerfile: 'FROM scratch\nRUN touch /evil\n',
    Makefile: 'build:\n\ttouch /evil\n',
    'esbuild.config.mjs': "import fs from 'node:fs';\nfs.writeFileSync('/evil', '');\n",
    'build.mjs': "import fs from 'node:fs';\nfs.writeFileSync('/evil', '');\n",
    '.swcrc': '{}',
    'babel.config.json': '{"plugins":["./evil"]}',
    'tsconfig.json': JSON.stringify({
      extends: '/etc/passwd',
      compilerOptions: {
        plugins: [{ name: './evil.js' }],
        paths: { '@glovebox/sdk': ['./src/sdk.ts'] },
        typeRoots: ['../../..'],
        noCheck: true,
        strict: false,
        skipLibCheck: true,
      },
      files: [],
    }),
    'src/sdk.ts': evil,
  };

  it('have no effect on a package that is sound: its own bundle is what it was without them', async () => {
    const plain = await passed(engine().engine, {});
    const { artifact } = await passed(engine().engine, recipes);
    expect(await bundleOf(artifact)).toBe(await bundleOf(plain.artifact));
    expect(existsSync('/evil')).toBe(false);
  });

  it('hide no type error, in no directory of src, whatever the scripts say', async () => {
    const wrong = 'export const wrong: string = 5;\n';
    const { findings, states } = await refused(engine().engine, {
      ...recipes,
      'package.json': text('package.json').replace(
        '{',
        '{ "scripts": { "typecheck": "true", "test": "true", "build": "true" },',
      ),
      'src/add.ts': `${text('src/add.ts')}${wrong}`,
      'src/dist/more.ts': wrong,
      'src/build/hidden.ts': `// @ts-nocheck\n${wrong}`,
    });
    expect(states).toMatchObject({ types: 'failed' });
    expect(errorsIn(findings)).toEqual(
      expect.arrayContaining([
        'types TYPES_FAILED src/add.ts:2',
        'types TYPES_FAILED src/dist/more.ts:1',
        'types TYPES_SUPPRESSED src/build/hidden.ts:1',
      ]),
    );
  });

  it('are part of the source where they lie in src: what is built is what is checked', async () => {
    const { artifact } = await passed(engine().engine, {
      'src/dist/add.ts':
        'export const add = (a: number, b: number): number => a + b; // built\nexport const inDist = "in-dist";\n',
      'src/add.ts':
        "import { add as plus, inDist } from './dist/add.ts';\nexport const add = (a: number, b: number): number => plus(a, b) + inDist.length - 7;\n",
    });
    expect(await bundleOf(artifact)).toContain('in-dist');
    const { config } = await engine().engine.artifacts.load(artifact);
    expect(config.revision).toMatch(/^sha256:/);
  });

  it('as a dependency with the name of the SDK are refused', async () => {
    const registry = await openRegistry();
    try {
      const { files, lockText } = lockedProject(registry, {
        packages: {
          'node_modules/@glovebox/sdk': { files: { 'index.js': evil.replaceAll(/: unknown| as any/g, '') } },
        },
      });
      const host = { ...engine().engine, packages: registry.source() };
      const { findings } = await refused(host, files);
      expect(errorsIn(findings)).toEqual([
        `lockfile DEPENDENCY_REFUSED package-lock.json:${lineOf(lockText, '"node_modules/@glovebox/sdk"')}`,
      ]);
    } finally {
      await registry.close();
    }
  });
});

it('machine code is refused as a file of the package, whatever it is called', async () => {
  const elf = Buffer.from('\x7fELF\x02\x01');
  const { findings } = await refused(engine().engine, { 'src/table.txt': elf, 'src/addon.node': 'x' });
  const told = new Set(findings.map(({ rule, file }) => `${rule} ${file}`));
  expect(told).toEqual(new Set(['PACKAGE_FILE_REFUSED src/addon.node', 'PACKAGE_FILE_REFUSED src/table.txt']));
});

describe('tests of the author', () => {
  it('that need a network, root, files of the host or a process fail, and one that needs none passes', async () => {
    const tests = [
      "import assert from 'node:assert/strict';",
      "import { execFileSync } from 'node:child_process';",
      "import { readFileSync } from 'node:fs';",
      "import { test } from 'node:test';",
      "test('network', async () => void (await fetch('http://example.com')));",
      "test('root', () => assert.equal(process.getuid?.(), 0));",
      "test('host', () => void readFileSync('/etc/shadow'));",
      "test('process', () => void execFileSync('/bin/true'));",
      "test('none', () => assert.equal(1, 1));",
    ].join('\n');
    const { findings } = await refused(engine().engine, { 'test/needs.test.ts': tests });
    expect(errorsIn(findings)).toEqual([5, 6, 7, 8].map((line) => `tests TESTS_FAILED test/needs.test.ts:${line}`));
  });
});

describe('publishing', () => {
  it('needs a validation of these very bytes: none, a failed one, or one of what was there before are refused', async () => {
    const { engine: host } = engine();
    const publish = () => publishRelease(host, { project: 'default', id: 'adder', actor });
    const { id } = await putFiles(host, goodPackage({ 'README.md': 'never validated' }));
    await expect(publish()).rejects.toMatchObject({ code: 'NOT_VALIDATED' });
    await passed(host, { 'README.md': 'validated' });
    const before = await host.drafts.get('default', id);
    expect([before?.draft.state, before?.report === undefined]).toEqual(['passed', false]);
    await putFiles(host, goodPackage({ 'README.md': 'changed since' }));
    const after = await host.drafts.get('default', id);
    expect(after?.draft).toMatchObject({ state: 'draft', artifact: null });
    await expect(publish()).rejects.toMatchObject({ code: 'NOT_VALIDATED' });
    await passed(host, { 'README.md': 'validated' });
    await expect(publish()).resolves.toMatchObject({ created: true });
  });
});
