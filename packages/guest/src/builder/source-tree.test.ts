import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { packageTgz, pax, type TarItem, tar, tgz } from '../../../../test/support/tar-writer.ts';
import { mayBeBundled } from './kept-files.ts';
import { SourceTree } from './source-tree.ts';

let base: string;
let root: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'source-tree-'));
  root = join(base, 'tree');
});
afterEach(() => rmSync(base, { recursive: true }));

const manifest = (extra: object = {}) => JSON.stringify({ name: 'dep', version: '1.0.0', ...extra });
const dep = (items: TarItem[], extra?: object) =>
  tgz([{ name: 'package/package.json', content: manifest(extra) }, ...items]);
const file = (path: string, content: string | Buffer = 'x'): TarItem => ({ name: `package/${path}`, content });

function unpack(...archives: [path: string, archive: Buffer, version?: string, use?: 'development'][]) {
  const tree = new SourceTree(root, mayBeBundled);
  for (const [path, bytes, version = '1.0.0', use = 'node'] of archives) {
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
    tree.addPackage({ kind: 'package', path, name, version, use, sizeBytes: bytes.length }, bytes);
  }
  return tree.finish();
}
const written = () => readdirSync(root, { recursive: true, encoding: 'utf8' }).sort();

describe('a dependency', () => {
  it('is unpacked without its root directory, with normal modes', () => {
    const report = unpack([
      'node_modules/dep',
      tgz([
        { name: 'dep-1.0.0/', type: '5' },
        { name: 'dep-1.0.0/package.json', content: manifest() },
        { name: 'dep-1.0.0/lib/run.js', content: '1', mode: 0o6777 },
        { name: 'dep-1.0.0/lib/a.js', content: '2', mode: 0o600 },
      ]),
    ]);
    expect(report).toMatchObject({ packages: 1, entries: 4, findings: [], webAssembly: [] });
    expect(readFileSync(join(root, 'node_modules/dep/lib/a.js'), 'utf8')).toBe('2');
    expect(statSync(join(root, 'node_modules/dep/lib/run.js')).mode).toBe(0o100755);
    expect(statSync(join(root, 'node_modules/dep/lib/a.js')).mode).toBe(0o100644);
  });

  it('may have a file by "./", once more or alone, as npm packs what is main', () => {
    const items = [file('./lib/main.js', '1'), file('lib/main.js', '1'), file('./other.js', '2')];
    expect(unpack(['node_modules/dep', dep(items)])).toMatchObject({ packages: 1, findings: [] });
    const content = (path: string) => readFileSync(join(root, 'node_modules/dep', path), 'utf8');
    expect([content('lib/main.js'), content('other.js')]).toEqual(['1', '2']);
  });

  const archives: [string, TarItem[]][] = [
    ['an absolute path', [{ name: '/abs', content: 'x' }]],
    ['repeated slashes at the root', [{ name: '////abs', content: 'x' }]],
    ['a way up', [{ name: 'package/../../evil', content: 'x' }]],
    ['a way up by the root directory', [{ name: '../evil', content: 'x' }]],
    ['a way up behind a directory', [file('a/../../../evil')]],
    ['a "." component', [{ name: './package/a', content: 'x' }]],
    ['a "." component inside', [file('b/./a')]],
    ['two "." components', [file('././a')]],
    ['a "." and a way up', [file('./../../evil')]],
    ['a "." in a second root directory', [{ name: 'other/./ok', content: 'x' }]],
    ['a directory "."', [{ name: 'package/./', type: '5' }]],
    ['a file twice, once by a ".", with another content', [file('a', '1'), file('./a', '2')]],
    ['a file twice, once by a ".", with another mode', [file('./a'), { ...file('a'), mode: 0o755 }]],
    ['a file twice by a "."', [file('./a'), file('./a')]],
    ['an empty component', [file('a//b')]],
    ['a backslash', [file('a\\..\\b')]],
    ['a pax path that goes up', [pax([['path', 'package/../../evil']]), file('a')]],
    ['a control character', [file('a\x1b[2J')]],
    ['a name of 256 bytes', [pax([['path', `package/${'n'.repeat(256)}`]]), file('a')]],
    ['a path of 33 directories', [file(`${'d/'.repeat(33)}a`)]],
    ['a file twice', [file('a', '1'), file('a', '2')]],
    ['names that differ in case', [file('README'), file('readme')]],
    ['a file that is a directory too', [file('a'), file('a/b')]],
    ['a file beside its root directory', [{ name: 'evil.js', content: 'x' }]],
    ['a second root directory', [{ name: 'other/a', content: 'x' }]],
    ['a symbolic link', [{ ...file('a', ''), type: '2', linkname: '../../..' }]],
    ['a link and a file through it', [{ ...file('a', ''), type: '2', linkname: '/tmp' }, file('a/b')]],
  ];
  it.each(archives)('with %s is refused whole: nothing of it is written', (_what, items) => {
    const report = unpack(['node_modules/dep', dep([file('ok'), ...items])]);
    expect(report.findings).toHaveLength(1);
    expect(report.findings[0]).toMatchObject({
      rule: 'ARCHIVE_REFUSED',
      package: 'node_modules/dep',
      entry: expect.any(String),
    });
    expect(written()).toEqual([]);
    expect(readdirSync(base)).toEqual(['tree']);
  });

  it.each([
    ['trailing garbage', Buffer.concat([dep([file('a')]), Buffer.from('x')])],
    ['no gzip', tar([file('a')])],
    ['a bomb', gzipSync(tar([file('zeros', Buffer.alloc(32 << 20))]))],
    ['an archive in an archive that is no tar', gzipSync(gzipSync('x'))],
  ])('with %s is refused', (_what, bytes) => {
    expect(unpack(['node_modules/dep', bytes]).findings).toMatchObject([
      { rule: 'ARCHIVE_REFUSED', package: 'node_modules/dep' },
    ]);
    expect(written()).toEqual([]);
  });

  const refusals: [string, TarItem[], object, string][] = [
    ['another name of its own', [], { name: 'other' }, 'package.json'],
    ['another version of its own', [], { version: '1.0.1' }, 'package.json'],
    ['a preinstall script', [], { scripts: { preinstall: 'x' } }, 'package.json'],
    ['an install script', [], { scripts: { install: 'x' } }, 'package.json'],
    ['a postinstall script', [], { scripts: { postinstall: '' } }, 'package.json'],
    ['gypfile', [], { gypfile: true }, 'package.json'],
    ['binding.gyp', [file('binding.gyp')], {}, 'binding.gyp'],
    ['an addon by its name', [file('build/x.node', 'text')], {}, 'build/x.node'],
    ['native code by its bytes', [file('data.txt', Buffer.from('\x7fELF\x02\x01'))], {}, 'data.txt'],
    ['packages of its own', [file('node_modules/evil/index.js')], {}, 'node_modules/evil/index.js'],
    ['a dependency that the lockfile lacks', [], { dependencies: { missing: '^1.0.0' } }, 'package.json'],
  ];
  it.each(refusals)('with %s is refused by name and file', (_what, items, extra, entry) => {
    expect(unpack(['node_modules/dep', dep(items, extra)]).findings).toMatchObject([
      { rule: 'DEPENDENCY_REFUSED', package: 'node_modules/dep', entry },
    ]);
  });

  it.each(refusals)('with %s is left out where it is there for development alone', (_what, items, extra) => {
    const report = unpack(
      ['node_modules/dep', dep(items, extra), '1.0.0', 'development'],
      ['node_modules/far', packageTgz('far', '1.0.0', { 'index.js': '' }), '1.0.0', 'development'],
    );
    expect(report).toMatchObject({ findings: [], packages: 2 });
    expect(written()).toContain('node_modules/far/index.js');
    // What it needs may have been left out too, and may not matter.
    expect(written().includes('node_modules/dep')).toBe('dependencies' in extra);
  });

  it('is refused as an archive although it is there for development alone', () => {
    const report = unpack(['node_modules/dep', Buffer.from('x'), '1.0.0', 'development']);
    expect(report.findings).toMatchObject([{ rule: 'ARCHIVE_REFUSED', package: 'node_modules/dep' }]);
  });

  it('may have scripts that installing does not run, and dependencies where Node.js finds them', () => {
    const extra = {
      scripts: { prepare: 'x', test: 'y' },
      dependencies: { near: '1', far: '1', no: '1' },
      optionalDependencies: { no: '1' },
    };
    const report = unpack(
      ['node_modules/far', packageTgz('far', '1.0.0')],
      ['node_modules/dep', dep([], extra)],
      ['node_modules/dep/node_modules/near', packageTgz('near', '1.0.0')],
    );
    expect(report.findings).toEqual([]);
    expect(written()).toContain('node_modules/dep/node_modules/near/package.json');
  });

  it.each([
    ['no package.json', tgz([file('index.js')])],
    ['a package.json that is no JSON', tgz([file('package.json', '{')])],
    ['a package.json that is a list', tgz([file('package.json', '[]')])],
    ['a package.json over its limit', tgz([file('package.json', Buffer.alloc(1024 * 1024 + 1, 0x20))])],
  ])('with %s is refused', (_what, bytes) => {
    expect(unpack(['node_modules/dep', bytes]).findings).toMatchObject([
      { rule: 'DEPENDENCY_REFUSED', entry: 'package.json' },
    ]);
  });

  it('is written without what no bundle can hold', () => {
    const names = ['a.js', 'a.d.ts', 'a.d.mts', 'a.js.map', 'README.md', 'd.ts', 'map'];
    expect(unpack(['node_modules/dep', dep(names.map((name) => file(name)))])).toMatchObject({
      entries: 8,
      findings: [],
    });
    expect(readdirSync(join(root, 'node_modules/dep')).sort()).toEqual(['a.js', 'd.ts', 'map', 'package.json']);
  });

  it('with WebAssembly is taken and noted, whatever the name', () => {
    const report = unpack(['node_modules/dep', dep([file('x.bin', Buffer.from('\0asm\x01\0\0\0'))])]);
    expect(report).toMatchObject({ findings: [], webAssembly: ['node_modules/dep/x.bin'] });
  });

  it('with settings of package managers is taken, and they are noted', () => {
    const names = ['.npmrc', '.pnpmfile.cjs', 'deep/.npmrc', 'npmrc'];
    expect(unpack(['node_modules/dep', dep(names.map((name) => file(name)))])).toMatchObject({
      findings: [],
      settings: ['node_modules/dep/.npmrc', 'node_modules/dep/.pnpmfile.cjs'],
    });
  });

  it('counts no more than a hundred of them', () => {
    const many = Array.from({ length: 101 }, (_, i): [string, Buffer] => [
      `node_modules/d${i}`,
      packageTgz(`d${i}`, '1.0.0', { '.npmrc': 'registry=https://evil.example/' }),
    ]);
    expect(unpack(...many)).toMatchObject({ findings: [], settings: expect.objectContaining({ length: 100 }) });
  });

  it('does not hide what is wrong with the others', () => {
    const report = unpack(
      ['node_modules/a', Buffer.from('x')],
      ['node_modules/b', packageTgz('b', '1.0.0', {}, { scripts: { install: 'x' } })],
      ['node_modules/c', packageTgz('c', '1.0.0', { 'index.js': '' })],
    );
    expect(report.findings.map((finding) => [finding.rule, finding.package])).toEqual([
      ['ARCHIVE_REFUSED', 'node_modules/a'],
      ['DEPENDENCY_REFUSED', 'node_modules/b'],
    ]);
    expect(written()).toContain('node_modules/c/index.js');
    expect(written()).not.toContain('node_modules/b/package.json');
  });

  it('stops at the limit of all of them together', () => {
    const big = packageTgz('x', '1.0.0', { 'a.bin': Buffer.alloc(60 << 20, Buffer.from(randomish())) });
    const places = Array.from({ length: 6 }, (_, i) => `node_modules/p${i}/node_modules/x`);
    const report = unpack(...places.map((path): [string, Buffer] => [path, big]));
    expect(report.findings).toMatchObject([{ rule: 'ARCHIVE_REFUSED', package: 'node_modules/p5/node_modules/x' }]);
  });
});

/** Compresses about a hundredfold: below the ratio that stops a bomb. */
function randomish(): string {
  let text = '';
  for (let i = 0, seed = 7; i < 40_000; i++) {
    seed = (seed * 1_103_515_245 + 12_345) & 0x7fffffff;
    text += i % 50 === 0 ? String.fromCharCode(97 + (seed % 26)) : 'a';
  }
  return text;
}

describe('a file of the author', () => {
  const add = (path: string, content: string | Buffer = 'x') => {
    const tree = new SourceTree(root, mayBeBundled);
    const bytes = Buffer.from(content);
    tree.addFile({ kind: 'file', path, sizeBytes: bytes.length }, bytes);
    return tree.finish();
  };

  it('is written where it belongs', () => {
    expect(add('src/index.ts', 'hello')).toMatchObject({ files: 1, findings: [] });
    expect(readFileSync(join(root, 'src/index.ts'), 'utf8')).toBe('hello');
  });

  it.each([
    ['../evil', 'x', 'PACKAGE_NAME_REFUSED'],
    ['/evil', 'x', 'PACKAGE_NAME_REFUSED'],
    ['a/./b', 'x', 'PACKAGE_NAME_REFUSED'],
    ['node_modules/csv/index.js', 'x', 'PACKAGE_FILE_REFUSED'],
    ['src/node_modules/csv/index.js', 'x', 'PACKAGE_FILE_REFUSED'],
    ['src/data.txt', '\x7fELF', 'PACKAGE_FILE_REFUSED'],
    ['src/x.node', 'x', 'PACKAGE_FILE_REFUSED'],
  ])('%j is refused and not written', (path, content, rule) => {
    expect(add(path, content).findings).toMatchObject([{ rule, entry: path }]);
    expect(written()).toEqual([]);
    expect(readdirSync(base)).toEqual(['tree']);
  });
});
