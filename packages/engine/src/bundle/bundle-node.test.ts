import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Digest, Json } from '@glovebox/contract';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BareBuilder, type BareOptions, builderProgram } from '../../../../test/support/bare-builder.ts';
import { packageTgz, tgz } from '../../../../test/support/tar-writer.ts';
import { type BundleOptions, bundleNode } from './bundle-node.ts';

const image = `sha256:${'0'.repeat(64)}` as Digest;

const scratch = mkdtempSync(join(tmpdir(), 'bundle-node-'));
const program = builderProgram(scratch);
afterAll(() => rmSync(scratch, { recursive: true }));

let builder: BareBuilder;
beforeEach(() => {
  builder = new BareBuilder({ program });
});
afterEach(() => builder.remove());

type Files = { [path: string]: string | Buffer };
type Dependencies = { [path: string]: Buffer };

function request(files: Files, dependencies: Dependencies = {}) {
  const all = { 'package.json': '{"name":"node","type":"module"}', ...files };
  const tarballs = Object.entries(dependencies).map(([path, bytes]) => ({
    path,
    name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
    version: '1.0.0',
    integrity: 'sha512-x',
    bytes,
  }));
  return {
    pkg: {
      files: new Map(Object.entries(all).map(([path, content]) => [path, Buffer.from(content)])),
      dependencies: tarballs.map(({ bytes: _, ...locked }) => locked),
    },
    tarballs,
  };
}

const bundle = (files: Files, dependencies?: Dependencies, options: Partial<BundleOptions> = {}) =>
  bundleNode(request(files, dependencies), {
    driver: builder,
    cellClass: 'ns',
    image,
    layout: builder.layout,
    ...options,
  });

async function bundled(files: Files, dependencies?: Dependencies) {
  const result = await bundle(files, dependencies);
  if (!result.ok) throw new Error(JSON.stringify(result.findings, null, 1));
  return { ...result, text: Buffer.from(result.bundle).toString() };
}

async function findings(files: Files, dependencies?: Dependencies, options?: Partial<BundleOptions>) {
  const result = await bundle(files, dependencies, options);
  if (result.ok) throw new Error('it was bundled');
  return result.findings;
}

async function load(text: string): Promise<{ default: unknown }> {
  const file = join(builder.base, `loaded-${Math.random()}.mjs`);
  writeFileSync(file, text);
  return (await import(/* @vite-ignore */ pathToFileURL(file).href)) as { default: unknown };
}

const usesDep = { 'src/index.ts': "import dep from 'dep';\nexport default dep;\n" };

describe('a bundle', () => {
  it('is one module of the author, the packages and the SDK, and can be loaded', async () => {
    const result = await bundled(
      {
        'src/index.ts': [
          "import { defineNode } from '@glovebox/sdk';",
          "import cjs from 'cjs';",
          "import { add } from './add.ts';",
          "import data from '../data.json' with { type: 'json' };",
          "import text from './text.txt';",
          'interface In { a: number }',
          'export default defineNode((input: In) => [add(input.a, 1), cjs.sum(1, 2), data.x, text]);',
        ].join('\n'),
        'src/add.ts': 'export const add = (a: number, b: number): number => a + b;',
        'src/text.txt': 'grüße',
        'data.json': '{"x": "data"}',
      },
      {
        'node_modules/cjs': packageTgz('cjs', '1.0.0', {
          'index.js': "const os = require('os'); exports.sum = (a, b) => a + b; exports.os = os;",
        }),
      },
    );
    const loaded = (await load(result.text)) as { default: { sdk: boolean; handler: (input: Json) => Json } };
    expect(loaded.default.sdk).toBe(true);
    expect(loaded.default.handler({ a: 1 })).toEqual([2, 3, 'data', 'grüße']);
    expect(result.bundleDigest).toMatch(/^sha256:[0-9a-f]{64}$/);
    const map = JSON.parse(Buffer.from(result.sourceMap).toString()) as { sources: string[]; sourcesContent: string[] };
    expect(map.sources).toContain('src/add.ts');
    expect(map.sourcesContent[map.sources.indexOf('src/add.ts')]).toContain('b: number');
    expect(Object.keys((result.metafile as { inputs: object }).inputs)).toContain('node_modules/cjs/index.js');
    expect(result).toMatchObject({ warnings: [], end: { cause: 'done' } });
  });

  it('has nothing of an import of which only types are used, and refuses what it would have to load', async () => {
    const types = {
      'src/index.ts':
        "import { NodeContext } from '@glovebox/sdk';\nimport { Row } from './row';\nimport { X } from 'types-of-something';\nexport default (ctx: NodeContext, row: Row, x: X) => 1;",
      'src/row.ts': "import { NodeContext } from '@glovebox/sdk'; export type Row = NodeContext;",
    };
    expect((await bundled(types)).text).not.toContain('import { NodeContext');
    const found = await findings({
      ...types,
      'src/index.ts': "import './other.ts'; export default 1;",
      'src/other.ts': "import { Row } from './row';\nimport 'https://example.com/x.js';\nexport const row = {} as Row;",
    });
    expect(found).toMatchObject([{ rule: 'BUILD_FAILED', place: { file: 'src/other.ts' } }]);
  });

  it('has the same bytes again, and no path of this host in it', async () => {
    const files = { 'src/index.ts': "import dep from 'dep'; export default () => [dep, import.meta.url];" };
    const dependencies = {
      'node_modules/dep': packageTgz('dep', '1.0.0', { 'index.js': 'module.exports = __filename;' }),
    };
    const first = await bundled(files, dependencies);
    const second = new BareBuilder({ program });
    try {
      const again = await bundleNode(request(files, dependencies), {
        driver: second,
        cellClass: 'ns',
        image,
        layout: second.layout,
      });
      expect(again).toMatchObject({ ok: true, bundleDigest: first.bundleDigest, metafile: first.metafile });
      if (again.ok) expect(Buffer.from(again.sourceMap).equals(Buffer.from(first.sourceMap))).toBe(true);
    } finally {
      second.remove();
    }
    for (const bytes of [first.bundle, first.sourceMap]) expect(Buffer.from(bytes).includes(builder.base)).toBe(false);
  });

  it('keeps the names of functions and classes', async () => {
    const { default: names } = (await load(
      (
        await bundled({
          'src/index.ts':
            "import { E } from './e.ts'; class F extends E {} const E2 = (() => { class E {} return E })(); export default [E.name, F.name, E2.name];",
          'src/e.ts': 'export class E extends Error {}',
        })
      ).text,
    )) as { default: string[] };
    expect(names).toEqual(['E', 'F', 'E']);
  });

  it('lets authors and packages use the names of CommonJS', async () => {
    const result = await bundled(
      {
        'src/index.ts':
          "import dep from 'dep'; const require = 1, __dirname = 2, module = 3; export default [require, __dirname, module, dep];",
      },
      {
        'node_modules/dep': packageTgz('dep', '1.0.0', {
          'index.js':
            "let optional = 'none'; try { optional = require('not-there') } catch (e) { optional = e.code }; module.exports = [typeof __dirname, require('util').format('%s', 1), optional];",
        }),
      },
    );
    expect((await load(result.text)).default).toEqual([1, 2, 3, ['string', '1', 'MODULE_NOT_FOUND']]);
  });

  it('takes no SDK but that of the toolchain', async () => {
    const result = await bundled({
      'package.json':
        '{"name":"@glovebox/sdk","type":"module","exports":"./src/fake.ts","imports":{"#sdk":"./src/fake.ts"}}',
      'src/index.ts': "import { defineNode } from '@glovebox/sdk'; export default defineNode(1 as never);",
      'src/fake.ts': "export const defineNode = () => 'fake';",
    });
    expect((await load(result.text)).default).toMatchObject({ sdk: true });
    expect(
      await findings(usesDep, { 'node_modules/@glovebox/sdk': packageTgz('@glovebox/sdk', '1.0.0') }),
    ).toMatchObject([{ rule: 'DEPENDENCY_REFUSED', message: expect.stringContaining('@glovebox/sdk') }]);
  });

  it('is not changed by a tsconfig.json or an .npmrc', async () => {
    const files = {
      'src/index.ts': "import x from 'dep';\nclass A { y = 1 }\nexport default [x, new A()];",
      'src/evil.ts': "export default 'evil'",
    };
    const dependencies = {
      'node_modules/dep': packageTgz('dep', '1.0.0', { 'index.js': 'module.exports = 1', 'tsconfig.json': '{' }),
    };
    const tsconfig = JSON.stringify({
      extends: '/etc/passwd',
      compilerOptions: {
        paths: { dep: ['./src/evil.ts'] },
        useDefineForClassFields: false,
        target: 'ES5',
        jsxFactory: 'evil',
        plugins: [{ name: './x' }],
      },
    });
    const plain = await bundled(files, dependencies);
    const hostile = await bundled(
      { ...files, 'tsconfig.json': tsconfig, 'src/tsconfig.json': tsconfig, '.npmrc': 'registry=http://evil.example' },
      dependencies,
    );
    expect(hostile.bundleDigest).toBe(plain.bundleDigest);
  });

  it('tells of settings that a dependency brings, and takes nothing from them', async () => {
    const files = { 'src/index.ts': "import x from 'dep';\nexport default x;" };
    const content = { 'index.js': 'module.exports = 1' };
    const settings = { '.npmrc': 'registry=http://evil.example', '.yarnrc.yml': 'npmRegistryServer: x' };
    const plain = await bundled(files, { 'node_modules/dep': packageTgz('dep', '1.0.0', content) });
    const dep = packageTgz('dep', '1.0.0', { ...content, ...settings });
    const { bundleDigest, warnings } = await bundled(files, { 'node_modules/dep': dep });
    expect([plain.warnings, bundleDigest]).toEqual([[], plain.bundleDigest]);
    expect(warnings.map(({ severity, place }) => `${severity} ${place.file}`)).toEqual([
      'notice node_modules/dep/.npmrc',
      'notice node_modules/dep/.yarnrc.yml',
    ]);
  });

  it('resolves packages as Node.js does', async () => {
    const dep = packageTgz(
      'dep',
      '1.0.0',
      {
        'n.js': "module.exports = 'node'",
        'b.js': "module.exports = 'browser'",
        'm.js': "export default 'module'",
        'd.js': "module.exports = 'default'",
      },
      {
        exports: { '.': { browser: './b.js', module: './m.js', node: './n.js', default: './d.js' } },
        browser: './b.js',
        module: './m.js',
      },
    );
    expect((await load((await bundled(usesDep, { 'node_modules/dep': dep })).text)).default).toBe('node');
  });
});

describe('a source that cannot be bundled', () => {
  it('gives findings with file, line and column, and says what to do', async () => {
    const found = await findings(
      {
        'src/index.ts': [
          "import a from 'not-installed';",
          "/* grüße */ import b from 'fs/nope';",
          "import c from './missing.ts';",
          "import d from '#nope';",
          "import e from 'file:///etc/hostname';",
          "import f from 'dep/inner';",
          "import g from './g.png';",
          'export default [a, b, c, d, e, f, g];',
        ].join('\n'),
        'src/g.png': 'x',
      },
      { 'node_modules/dep': packageTgz('dep', '1.0.0', {}, { exports: './x.js' }) },
    );
    const summary = found.map(({ rule, place, hint }) => [rule, place.file, place.line, place.column, hint]);
    expect(summary).toContainEqual([
      'BUILD_FAILED',
      'src/index.ts',
      1,
      15,
      expect.stringMatching(/Add not-installed to dependencies .* no built-in/),
    ]);
    expect(summary).toContainEqual([
      'BUILD_FAILED',
      'src/index.ts',
      2,
      27,
      expect.stringContaining('Node.js has fs, but not fs/nope'),
    ]);
    expect(summary).toContainEqual(['BUILD_FAILED', 'src/index.ts', 3, 15, expect.stringContaining('no such file')]);
    expect(summary).toContainEqual(['BUILD_FAILED', 'src/index.ts', 4, 15, expect.stringContaining('imports field')]);
    expect(summary).toContainEqual(['BUILD_FAILED', 'src/index.ts', 5, 15, expect.stringContaining('relative path')]);
    expect(summary).toContainEqual([
      'BUILD_FAILED',
      'src/index.ts',
      6,
      15,
      expect.stringContaining('does not offer this path'),
    ]);
    expect(summary).toContainEqual(['BUILD_FAILED', 'src/index.ts', 7, 15, expect.stringContaining('.json')]);
    expect(found).toHaveLength(7);
  });

  it('names a syntax error, in the author’s files and in packages', async () => {
    expect(await findings({ 'src/index.ts': 'export default {\n  a: ;\n}' })).toMatchObject([
      { rule: 'BUILD_FAILED', place: { file: 'src/index.ts', line: 2, column: 6 } },
    ]);
    expect(
      await findings(usesDep, {
        'node_modules/dep': packageTgz('dep', '1.0.0', { 'index.js': 'module.exports = 1 +' }),
      }),
    ).toMatchObject([{ rule: 'BUILD_FAILED', place: { file: 'node_modules/dep/index.js', line: 1 } }]);
    expect(
      await findings({ 'src/index.ts': "import { nope } from '@glovebox/sdk'; export default nope;" }),
    ).toMatchObject([{ rule: 'BUILD_FAILED', message: 'No matching export in "@glovebox/sdk" for import "nope"' }]);
    expect(await findings({ 'other.ts': '' })).toMatchObject([{ rule: 'BUILD_FAILED' }]);
  });

  it.each<[string, Files, Dependencies?]>([
    ['an absolute import', { 'src/index.ts': "import '/etc/hostname'; export default 1;" }],
    ['an import out of the package', { 'src/index.ts': `import '${'../'.repeat(12)}etc/hostname'; export default 1;` }],
    ['a data: import', { 'src/index.ts': "import 'data:text/javascript,globalThis.x=1'; export default 1;" }],
    ['an https: import', { 'src/index.ts': "import x from 'https://evil.example/x.js'; export default x;" }],
    ['a built-in that is none', { 'src/index.ts': "import x from 'node:nope'; export default x;" }],
    ['a style sheet', { 'src/index.ts': "import './a.css'; export default 1;", 'src/a.css': 'a{}' }],
    ['JSX', { 'src/index.ts': "import x from './a.jsx'; export default x;", 'src/a.jsx': 'export default 1' }],
    ['WebAssembly', { 'src/index.ts': "import x from './a.wasm'; export default x;", 'src/a.wasm': '\0asm\x01\0\0\0' }],
    [
      'WebAssembly as bytes',
      { 'src/index.ts': "import x from './a.wasm' with { type: 'bytes' }; export default x;", 'src/a.wasm': '\0asm' },
    ],
    [
      'WebAssembly under another name',
      { 'src/index.ts': "import x from './a.txt'; export default x;", 'src/a.txt': '\0asm\x01\0\0\0' },
    ],
    [
      'WebAssembly of a package',
      usesDep,
      {
        'node_modules/dep': packageTgz('dep', '1.0.0', {
          'index.js': "module.exports = require('./a.txt')",
          'a.txt': '\0asm',
        }),
      },
    ],
    [
      'a package inside of a package',
      usesDep,
      {
        'node_modules/dep': packageTgz('dep', '1.0.0', {
          'index.js': "module.exports = require('./lib/x.js')",
          'lib/x.js': "require('evil')",
          'lib/node_modules/evil/index.js': '1',
        }),
      },
    ],
  ])('with %s is refused', async (_what, files, dependencies) => {
    const found = await findings(files, dependencies);
    expect(found.length).toBeGreaterThan(0);
    for (const { rule, hint, place } of found) {
      expect(['BUILD_FAILED', 'DEPENDENCY_REFUSED']).toContain(rule);
      expect(hint).not.toBe('');
      expect(place.file).toEqual(expect.any(String));
    }
  });

  it('names a source that is nested too deep for the bundler as the fault', async () => {
    const found = await findings({ 'src/index.ts': `export default ${'['.repeat(1_900_000)}` });
    expect(found).toMatchObject([{ rule: 'BUILD_FAILED', message: expect.stringContaining('nested too deep') }]);
  });

  it('may use WebAssembly-free parts of packages that have some', async () => {
    const dep = packageTgz('dep', '1.0.0', {
      'index.js': 'module.exports = 1',
      'a.wasm': '\0asm',
      'test/node_modules/evil/index.js': '1',
    });
    expect((await load((await bundled(usesDep, { 'node_modules/dep': dep })).text)).default).toBe(1);
  });

  it('reports every refused archive and package, and does not bundle', async () => {
    const found = await findings(usesDep, {
      'node_modules/dep': packageTgz('dep', '2.0.0', {}, { scripts: { postinstall: 'x' } }),
      'node_modules/evil': tgz([{ name: 'package/\x1b]0;x\x07/../../../evil', content: 'x' }]),
    });
    expect(found.map(({ rule, place }) => [rule, place.file])).toEqual([
      ['DEPENDENCY_REFUSED', 'node_modules/dep/package.json'],
      ['DEPENDENCY_REFUSED', 'node_modules/dep/package.json'],
      ['ARCHIVE_REFUSED', 'node_modules/evil/package/\\u{1b}]0;x\\u{7}/../../../evil'],
    ]);
    for (const { message } of found) expect(message).not.toMatch(/\p{Cc}/u);
  });

  it('is refused when the bundle is over its limit', async () => {
    const big = `export default '${'x'.repeat(17 * 1024 * 1024)}';`;
    expect(await findings({ 'src/index.ts': big })).toMatchObject([
      { rule: 'BUNDLE_TOO_LARGE', message: expect.stringContaining('bundle') },
    ]);
  });
});

describe('a builder that goes wrong', () => {
  const broken = async (options: Partial<BareOptions>, more: Partial<BundleOptions> = {}) => {
    builder.remove();
    builder = new BareBuilder({ program, ...options });
    return bundle({ 'src/index.ts': 'export default 1' }, {}, more);
  };
  const fake = (text: string): string => {
    const file = join(scratch, `${Math.random()}.cjs`);
    writeFileSync(file, `#!${process.execPath}\n${text}`, { mode: 0o755 });
    return file;
  };
  const packet = (text: string) =>
    `{ const b = Buffer.from(${JSON.stringify(text)}, 'latin1'); const n = Buffer.alloc(4); n.writeUInt32LE(b.length); require('fs').writeSync(1, Buffer.concat([n, b])); }`;
  const hang = 'setInterval(() => {}, 1000);';

  it('is CELL_BOOT_FAILED when it dies before it asks', async () => {
    await expect(broken({ program: fake('console.error("no good"); process.exit(3)') })).rejects.toMatchObject({
      code: 'CELL_BOOT_FAILED',
      message: expect.stringContaining('no good'),
    });
  });

  it('is CHANNEL_CORRUPTED when it writes something else to the channel', async () => {
    await expect(
      broken({ program: fake(`require('fs').writeSync(3, 'x'.repeat(1000)); ${hang}`) }),
    ).rejects.toMatchObject({ code: 'CHANNEL_CORRUPTED' });
    expect(builder.lastEnd).toMatchObject({ cause: 'violation', exit: { signal: 'SIGKILL' } });
  });

  it('is CELL_LOST when esbuild is not there or crashes', async () => {
    await expect(broken({ esbuild: '/nowhere/esbuild' })).rejects.toMatchObject({ code: 'CELL_LOST' });
    await expect(
      broken({ esbuild: fake(`${packet('0.28.2')} console.error("panic: x"); process.exit(2)`) }),
    ).rejects.toMatchObject({
      code: 'CELL_LOST',
      message: expect.stringContaining('panic: x'),
    });
  });

  it.each([
    ['another version', packet('0.28.1')],
    ['text in place of a greeting', "require('fs').writeSync(1, 'hello, world');"],
    ['an answer that is no value', packet('0.28.2') + packet('\x01\0\0\0\xff')],
    ['an answer to another question', packet('0.28.2') + packet('\x03\0\0\0\0')],
    ['a request', packet('0.28.2') + packet('\0\0\0\0\0')],
    ['an answer of another shape', packet('0.28.2') + packet('\x01\0\0\0\x06\0\0\0\0')],
    ['a list that claims four billion items', packet('0.28.2') + packet('\x01\0\0\0\x05\xff\xff\xff\xff')],
    ['a value that nests without end', packet('0.28.2') + packet(`\x01\0\0\0${'\x05\x01\0\0\0'.repeat(10_000)}`)],
  ])('is CHANNEL_CORRUPTED when the service says %s', async (_what, text) => {
    await expect(broken({ esbuild: fake(text + hang) })).rejects.toMatchObject({ code: 'CHANNEL_CORRUPTED' });
    expect(builder.lastEnd).toMatchObject({ exit: { signal: 'SIGKILL' } });
  });

  it('is stopped at the length of an answer that is too long', async () => {
    const text = `${packet('0.28.2')} require('fs').writeSync(1, Buffer.from([255, 255, 255, 127])); ${hang}`;
    expect(await broken({ esbuild: fake(text) })).toMatchObject({
      ok: false,
      findings: [{ rule: 'BUNDLE_TOO_LARGE' }],
    });
  });

  it('is stopped at its deadline, wherever it hangs', async () => {
    const timedOut = { ok: false, findings: [{ rule: 'BUILD_TIMED_OUT' }] };
    // What hangs there is nothing of the package.
    await expect(broken({ program: fake(hang), deadlineMs: 300 })).rejects.toMatchObject({ code: 'CELL_BOOT_FAILED' });
    expect(await broken({ esbuild: fake(hang), deadlineMs: 1500 })).toMatchObject(timedOut);
    expect(await broken({ esbuild: fake(packet('0.28.2') + hang), deadlineMs: 1500 })).toMatchObject(timedOut);
  });

  it('is CELL_LOST when something kills it midway', async () => {
    const result = broken({ onMoment: (moment) => moment === 'bundle' && builder.child?.kill('SIGKILL') });
    await expect(result).rejects.toMatchObject({ code: 'CELL_LOST' });
  });

  it('is dead when a cancelled build returns, whenever it is cancelled', async () => {
    for (const at of ['boot', 'unpack', 'bundle', 'teardown'] as const) {
      const controller = new AbortController();
      const result = broken(
        { onMoment: (moment) => moment === at && controller.abort() },
        { signal: controller.signal },
      );
      await expect(result, at).rejects.toMatchObject({ code: 'INTERRUPTED' });
      expect(builder.child?.signalCode, at).toBe('SIGKILL');
    }
  });

  it('gives no bundle where its cell could not be confirmed dead, and one where it could', async () => {
    const endError = { code: 'CELL_LOST', message: 'A cell could not be confirmed dead: cell_bare' } as const;
    await expect(broken({ endError })).rejects.toMatchObject(endError);
    expect(await broken({})).toMatchObject({ ok: true });
  });

  it('leaves no descriptor of the channel to esbuild', async () => {
    const text = `require('fs').writeFileSync('${scratch}/seen', JSON.stringify({ fds: require('fs').readdirSync('/proc/self/fd').filter((fd) => { try { return require('fs').readlinkSync('/proc/self/fd/' + fd).startsWith('socket:') } catch {} }), env: process.env }));`;
    await expect(broken({ esbuild: fake(text) })).rejects.toMatchObject({ code: 'CELL_LOST' });
    const seen = JSON.parse(readFileSync(join(scratch, 'seen'), 'utf8')) as { fds: string[]; env: object };
    expect(seen.fds).toEqual(['0', '1', '2']);
    expect(Object.keys(seen.env).sort()).toEqual(['GOMAXPROCS', 'GOMEMLIMIT', 'HOME', 'LANG', 'TMPDIR', 'TZ']);
  });
});
