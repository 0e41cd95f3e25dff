import { builtinModules, findPackageJSON } from 'node:module';
import type { Finding } from '@glovebox/contract';
import { GloveboxError } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { attempting } from '../support/attempts.ts';
import type { NodeSource } from '../support/node-package.ts';
import { useEngine } from '../support/use-engine.ts';

const cells = useEngine();

/** Why a package does not run, as rule, file and line. */
async function findingsOf(source: NodeSource): Promise<string[]> {
  const boots = cells().boots.length;
  const error: unknown = await cells()
    .run(source)
    .catch((thrown: unknown) => thrown);
  if (!GloveboxError.is(error)) throw new Error('the package ran');
  expect(cells().boots.slice(boots)).not.toContain('run');
  const { findings } = error.details as unknown as { findings: Finding[] };
  return findings.map(({ rule, place }) => `${rule} ${place.file}${place.line === undefined ? '' : `:${place.line}`}`);
}

describe('imports', () => {
  it('of anything but files of the package, its dependencies and built-ins are refused, with file and line', async () => {
    const specifiers = [
      '/root/.npmrc',
      '../../../../../../root/.ssh/id_ed25519',
      '../../../../../../srv/x.ts',
      'file:///etc/passwd',
      'blob:nodedata:1',
      'no-such-package',
      '#internal',
      '@glovebox/contract',
    ];
    const files = { 'src/all.ts': specifiers.map((specifier) => `import ${JSON.stringify(specifier)};`).join('\n') };
    expect(await findingsOf({ top: `import './all.ts';`, body: 'return 1', files })).toEqual(
      specifiers.map((_, i) => `BUILD_FAILED src/all.ts:${i + 1}`),
    );
  });

  it('of the web, of unknown built-ins and of what the builder itself has are refused', async () => {
    const external = ['https://example.com/x.js', 'http://127.0.0.1/x.js', 'node:no-such-module'];
    const top = external.map((specifier) => `import '${specifier}';`).join('\n');
    expect(await findingsOf({ top, body: 'return 1' })).toEqual(external.map(() => 'BUILD_FAILED src/index.ts'));
    for (const file of ['/etc/passwd', '../../../glovebox/builder.cjs']) {
      const found = await findingsOf({ top: `import '${file}';`, body: 'return 1' });
      expect([file, found]).toEqual([file, [expect.stringContaining('BUILD_FAILED ../../')]]);
    }
  });

  it('are refused as well where the name is put together, in a way that can be computed', async () => {
    const forms = [
      `await import('/root/' + 'a');`,
      'await import(`/root/b`);',
      `await import(ctx.input ? '/root/c' : 'node:fs');`,
      `require('/root/' + 'd');`,
      String.raw`require('\x2froot\u{2f}e');`,
    ];
    const found = await findingsOf({ body: `\n${forms.join('\n')}\nreturn 1;` });
    expect(found).toEqual(forms.map((_, i) => `BUILD_FAILED src/index.ts:${i + 5}`));
  });

  it('are refused by the imports field, by attributes and by patterns, where they lead out of the package', async () => {
    const packageJson = (imports: object): string =>
      JSON.stringify({ name: 'test-node', version: '1.0.0', license: 'Apache-2.0', type: 'module', imports });
    const out = {
      '#up': '../../../etc/passwd',
      '#root': '/etc/passwd',
      '#data': 'data:text/javascript,export default 7',
    };
    const byField = Object.keys(out).map((name, i) => `import i${i} from '${name}';`);
    expect(
      await findingsOf({
        body: 'return [i0, i1, i2]',
        top: byField.join(' '),
        files: { 'package.json': packageJson(out) },
      }),
    ).toHaveLength(3);
    const asText = ['/etc/passwd', '/proc/self/environ'].map(
      (path, i) => `import t${i} from '${path}' with { type: 'text' };`,
    );
    expect(await findingsOf({ body: 'return [t0, t1]', top: asText.join(' ') })).toEqual(
      Array(2).fill(expect.stringMatching(/^BUILD_FAILED \.\.\/\.\.\/(etc|proc)\//)),
    );
    const pattern = 'return (await import(`../../../../etc/$' + '{ctx.input}`)).default';
    expect((await findingsOf({ body: pattern })).length).toBeGreaterThan(0);
    const inside = await cells().run(
      {
        top: `import own from '#own'; import text from './x.txt' with { type: 'text' };`,
        body:
          'const load = (name) => import(`./parts/$' +
          '{name}.ts`); let out; try { out = await load(ctx.input) } catch (e) { out = e.constructor.name } return [own, text, (await load("a")).default, out]',
        files: {
          'package.json': packageJson({ '#own': './src/own.ts' }),
          'src/own.ts': 'export default 7',
          'src/x.txt': 'text',
          'src/parts/a.ts': `export default 'a'`,
        },
      },
      { input: '../../../../etc/passwd' },
    );
    expect(inside.output).toEqual([7, 'text', 'a', 'Error']);
  });

  it('of text as a module are refused, and of a package file are not', async () => {
    expect(
      await findingsOf({ top: `import seven from 'data:text/javascript,export default 7';`, body: 'return seven' }),
    ).toEqual([expect.stringContaining('BUILD_FAILED <data:')]);
    const fine = {
      top: `import { seven } from './seven.ts'; import data from './data.json';`,
      body: 'return [seven, data]',
    };
    const { output } = await cells().run({
      ...fine,
      files: { 'src/seven.ts': 'export const seven: number = 7;', 'src/data.json': '{"a":1}' },
    });
    expect(output).toEqual([7, { a: 1 }]);
  });

  it('with a name that only the run knows reach built-ins, and no file but scratch', async () => {
    const { output } = await cells().run(
      attempting({
        'a built-in': `return typeof (await import(atob('bm9kZTpmcw=='))).readFileSync`,
        'a file of the host': `return Object.keys(await import(atob('L2V0Yy9wYXNzd2Q=')))`,
        'a file of the host by URL': `return Object.keys(await import(['file:///etc/passwd'][0]))`,
        'a file above': `return Object.keys(await import(['../../../../etc/passwd'][0]))`,
        'the web': `return Object.keys(await import(['https://example.com/x.js'][0]))`,
        'a blob': `return (await import(URL.createObjectURL(new Blob(['export default 7'])))).default`,
        'a package': `return Object.keys(await import(['typescript'][0]))`,
        'the harness': `return Object.keys(await import(['/glovebox/harness.cjs'][0]))`,
        scratch: `fs.writeFileSync('/tmp/seven.mjs', 'export default 7'); return (await import(['/tmp/seven.mjs'][0])).default`,
      }),
    );
    expect(output).toEqual({
      'a built-in': { got: 'function' },
      'a file of the host': 'ERR_ACCESS_DENIED',
      'a file of the host by URL': 'ERR_ACCESS_DENIED',
      'a file above': 'ERR_ACCESS_DENIED',
      'the web': 'ERR_UNSUPPORTED_ESM_URL_SCHEME',
      'a blob': 'ERR_UNSUPPORTED_ESM_URL_SCHEME',
      'a package': expect.stringMatching(/^ERR_/),
      'the harness': { got: expect.any(Array) },
      scratch: { got: 7 },
    });
  });
});

describe('built-in modules', () => {
  it('of a cell are this list, and every new one is a decision', async () => {
    const { output } = await cells().run(
      {
        body: `const loaded = []; for (const name of ctx.input) try { await import(name); loaded.push(name); } catch {} return { loaded, listed: process.getBuiltinModule('module').builtinModules };`,
      },
      { input: builtinModules },
    );
    const expected =
      '_http_agent _http_client _http_common _http_incoming _http_outgoing _http_server _tls_common _tls_wrap assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns dns/promises domain events fs fs/promises http http2 https inspector inspector/promises module net os path path/posix path/win32 perf_hooks process punycode querystring readline readline/promises repl stream stream/consumers stream/promises stream/web string_decoder sys timers timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads zlib node:sea node:sqlite node:test node:test/reporters';
    expect(output).toEqual({ loaded: expected.split(' '), listed: expected.split(' ') });
  });

  it('give a node no power that it should not have', async () => {
    const { output } = await cells().run(
      attempting({
        'a worker': `new (builtin('worker_threads').Worker)('1', { eval: true })`,
        'a child process': `const { error, status } = builtin('child_process').spawnSync('/usr/bin/node', ['-e', '1']); if (error) throw error; return status`,
        'a fork': `return builtin('child_process').fork('/glovebox/harness.cjs').pid`,
        'a cluster': `return builtin('cluster').fork().id`,
        'another program': `process.execve('/usr/bin/node', ['node', '-e', '1'])`,
        'native code': `process.dlopen({ exports: {} }, '/tmp/x.node')`,
        'native code by require': `fs.writeFileSync('/tmp/x.node', 'x'); return builtin('module').createRequire('/tmp/')('/tmp/x.node')`,
        'internal bindings': `return Object.keys(process.binding('fs'))`,
        'an inspector': `builtin('inspector').open(0)`,
        'an inspector session': `const s = new (builtin('inspector').Session)(); s.connect(); return 'connected'`,
        'WASI with the root directory': `return new (builtin('wasi').WASI)({ version: 'preview1', preopens: { '/': '/' } })`,
        'a loader': `builtin('module').register('data:text/javascript,'); return 'registered'`,
        'a database outside': `return new (process.getBuiltinModule('node:sqlite').DatabaseSync)('/glovebox/x.db')`,
        'a database with native code': `return new (process.getBuiltinModule('node:sqlite').DatabaseSync)(':memory:', { allowExtension: true })`,
        'a database in memory': `const d = new (process.getBuiltinModule('node:sqlite').DatabaseSync)(':memory:'); return d.prepare('SELECT 6 * 7 AS n').get()`,
        'tests in processes': `return await new Promise((done, fail) => process.getBuiltinModule('node:test').run({ files: ['/glovebox/harness.cjs'], isolation: 'process' }).on('error', fail).on('test:fail', () => fail({ code: 'failed' })).on('test:pass', () => done('ran')).resume())`,
        'foreign functions': `return process.getBuiltinModule('node:ffi').dlopen('libc.so.6')`,
        'an end-to-end hash': `return builtin('crypto').createHash('sha256').update('a').digest('hex').slice(0, 8)`,
      }),
    );
    expect(output).toEqual({
      'a worker': 'ERR_ACCESS_DENIED',
      'a child process': 'ERR_ACCESS_DENIED',
      'a fork': 'ERR_ACCESS_DENIED',
      'a cluster': 'ERR_ACCESS_DENIED',
      'another program': 'ERR_ACCESS_DENIED',
      'native code': 'ERR_DLOPEN_DISABLED',
      'native code by require': 'ERR_DLOPEN_DISABLED',
      'internal bindings': 'ERR_ACCESS_DENIED',
      'an inspector': 'ERR_ACCESS_DENIED',
      'an inspector session': 'ERR_ACCESS_DENIED',
      'WASI with the root directory': 'ERR_ACCESS_DENIED',
      'a loader': 'ERR_ACCESS_DENIED',
      'a database outside': 'ERR_SQLITE_ERROR',
      'a database with native code': 'ERR_LOAD_SQLITE_EXTENSION',
      'a database in memory': { got: { n: 42 } },
      'tests in processes': 'failed',
      'foreign functions': 'TypeError',
      'an end-to-end hash': { got: 'ca978112' },
    });
  });
});

describe('the module loader', () => {
  it('gives nothing of the host, however it is taken hold of', async () => {
    const { output } = await cells().run(
      attempting(
        {
          'createRequire of a built-in': `return typeof create('/tmp/x.js')('fs').readFileSync`,
          'createRequire of a host file': `return create('/tmp/x.js')('/etc/passwd')`,
          'createRequire by import.meta': `return create(import.meta.url)('../etc/passwd')`,
          'the require of the bundle': `return require(['/etc/passwd'][0])`,
          'Module._load': `return Module._load('/etc/passwd', null, true)`,
          'a new Module': `const m = new Module('/etc/x'); m.paths = ['/etc']; m.filename = '/etc/x'; return m.require('./passwd')`,
          'an extension for text': `Module._extensions['.txt'] = (m, f) => { m.exports = fs.readFileSync(f, 'utf8') }; return create('/etc/')('/etc/x.txt')`,
          'a lied stat cache': `Module._pathCache['/etc/passwd'] = '/etc/passwd'; Module._findPath = () => '/etc/passwd'; return Module._load('x', null, true)`,
          'a compiled module': `const m = new Module('/tmp/a.js'); m._compile('module.exports = require("fs").readFileSync("/etc/passwd", "utf8")', '/tmp/a.js'); return m.exports`,
          'global paths': `return Module.globalPaths.filter((path) => { try { return fs.readdirSync(path).length } catch { return false } })`,
          'a lookup of package scopes': `return builtin('module').findPackageJSON(ctx.input.url)`,
        },
        `import Module, { createRequire as create } from 'node:module';`,
      ),
      { input: { url: import.meta.url } },
    );
    // On the host there is one to be found.
    expect(findPackageJSON(import.meta.url)).toMatch(/package\.json$/);
    expect(output).toEqual({
      'createRequire of a built-in': { got: 'function' },
      'createRequire of a host file': 'ERR_ACCESS_DENIED',
      'createRequire by import.meta': 'ERR_ACCESS_DENIED',
      'the require of the bundle': 'ERR_ACCESS_DENIED',
      'Module._load': 'ERR_ACCESS_DENIED',
      'a new Module': expect.stringMatching(/^(ERR_ACCESS_DENIED|MODULE_NOT_FOUND)$/),
      'an extension for text': expect.stringMatching(/^(ERR_ACCESS_DENIED|MODULE_NOT_FOUND)$/),
      'a lied stat cache': 'ERR_ACCESS_DENIED',
      'a compiled module': 'ERR_ACCESS_DENIED',
      'global paths': { got: [] },
      'a lookup of package scopes': 'ERR_MODULE_NOT_FOUND',
    });
  });

  it('of one run is not that of the next', async () => {
    const patch = {
      body: `const Module = process.getBuiltinModule('module'); const before = Module._load.patched === true; Module._load = Object.assign(() => ({}), { patched: true }); globalThis.leftHere ??= 0; return { before, leftHere: globalThis.leftHere++ };`,
    };
    const first = await cells().run(patch);
    const second = await cells().run(patch);
    expect([first.output, second.output]).toEqual(Array(2).fill({ before: false, leftHere: 0 }));
  });
});

describe('native and binary code in a package', () => {
  it.each([
    ['an addon', { 'src/x.node': 'anything' }, 'src/x.node'],
    ['an addon in capitals', { 'src/X.NODE': 'anything' }, 'src/X.NODE'],
    ['ELF by its first bytes, named as text', { 'src/data.txt': '\x7fELF\x02\x01\x01' }, 'src/data.txt'],
  ])('%s is found, whatever its name', async (_, files, file) => {
    expect(await findingsOf({ body: 'return 1', files: files as unknown as Record<string, string> })).toEqual([
      `PACKAGE_FILE_REFUSED ${file}`,
    ]);
  });

  it('as WebAssembly is refused when the bundle would hold it, whatever its name', async () => {
    const wasm = '\0asm\x01\0\0\0';
    for (const name of ['module.wasm', 'module.txt']) {
      const source = { top: `import wasm from './${name}';`, body: 'return wasm', files: { [`src/${name}`]: wasm } };
      expect(await findingsOf(source)).toEqual([expect.stringMatching(/^BUILD_FAILED src\/(index|module)/)]);
    }
    const unused = await cells().run({ body: 'return 1', files: { 'fixtures/module.bin': wasm } });
    expect(unused.output).toBe(1);
  });

  it('as WebAssembly in a string reaches nothing that JavaScript does not', async () => {
    const { output } = await cells().run(
      attempting({
        'it runs': `const bytes = Uint8Array.from(atob('AGFzbQEAAAABBQFgAAF/AwIBAAcFAQFmAAAKBgEEAEEqCw=='), (c) => c.charCodeAt(0)); return new WebAssembly.Instance(new WebAssembly.Module(bytes)).exports.f()`,
        'it gets no system interface': `return new (builtin('wasi').WASI)({ version: 'preview1' })`,
        'it is not compiled from the web': `return await WebAssembly.compileStreaming(fetch('https://example.com/x.wasm'))`,
      }),
    );
    expect(output).toEqual({
      'it runs': { got: 42 },
      'it gets no system interface': 'ERR_ACCESS_DENIED',
      'it is not compiled from the web': 'TypeError',
    });
  });
});
