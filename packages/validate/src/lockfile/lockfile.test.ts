import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { findingsOf, goodPackageJson, packageDirectory, told } from '../../test/kit.ts';
import { readNodePackage } from '../node-package.ts';

const sha512 = (text: string) => `sha512-${createHash('sha512').update(text).digest('base64')}`;
const entry = (version: string, more: object = {}) => ({ version, integrity: sha512(version), ...more });

const registry = 'https://registry.example';

type Entries = { [path: string]: unknown };
const dependencies = { a: '1.2.0' };
/** a → b, c; b → c at an older version, nested below it. */
const goodTree: Entries = {
  'node_modules/a': entry('1.2.0', { dependencies: { b: '^2.0.0', c: '^3.1.0' } }),
  'node_modules/b': entry('2.0.1', { dependencies: { c: '~3.0.0' } }),
  'node_modules/c': entry('3.1.4'),
  'node_modules/b/node_modules/c': entry('3.0.9'),
};

function lock(packages: Entries, more: object = {}, root: object = { dependencies }): string {
  return JSON.stringify(
    { name: 'x', version: '1.0.0', lockfileVersion: 3, requires: true, packages: { '': root, ...packages }, ...more },
    null,
    1,
  );
}

function read(
  lockText: string | null,
  fields: object = { dependencies },
  files: { [path: string]: string } = {},
  registries: string[] = [registry],
) {
  const dir = packageDirectory({
    'package.json': JSON.stringify({ ...goodPackageJson, ...fields }),
    'package-lock.json': lockText,
    ...files,
  });
  return readNodePackage(dir, { registries, platform: { os: 'linux', cpu: 'x64', libc: 'glibc' } });
}

const withEntry = (path: string, value: unknown) => read(lock({ ...goodTree, [path]: value }));
const withA = (more: object) => withEntry('node_modules/a', { ...(goodTree['node_modules/a'] as object), ...more });
const paths = (result: Awaited<ReturnType<typeof read>>) =>
  result.ok ? result.pkg.dependencies.map(({ path }) => path) : told(result);

it('takes the closure of the dependencies, sorted by path, with name, version and hash', async () => {
  const result = await read(lock(goodTree));
  if (!result.ok) throw new Error(told(result).join());
  expect(result.pkg.dependencies).toEqual([
    { path: 'node_modules/a', name: 'a', version: '1.2.0', integrity: sha512('1.2.0') },
    { path: 'node_modules/b', name: 'b', version: '2.0.1', integrity: sha512('2.0.1') },
    { path: 'node_modules/b/node_modules/c', name: 'c', version: '3.0.9', integrity: sha512('3.0.9') },
    { path: 'node_modules/c', name: 'c', version: '3.1.4', integrity: sha512('3.1.4') },
  ]);
});

it('takes lockfileVersion 2 and its legacy part', async () => {
  expect((await read(lock(goodTree, { lockfileVersion: 2, dependencies: { a: { version: '1.2.0' } } }))).ok).toBe(true);
});

describe('where a package would come from', () => {
  const refused = [
    'https://evil.example/a/-/a-1.2.0.tgz',
    'http://registry.example/a/-/a-1.2.0.tgz',
    'https://127.0.0.1/a/-/a-1.2.0.tgz',
    'https://[::1]/a/-/a-1.2.0.tgz',
    'file:../a.tgz',
    'file:///a.tgz',
    'git+ssh://git@example.com/a.git#0123456789012345678901234567890123456789',
    'git+https://example.com/a.git',
    'https://codeload.example.com/a/tar.gz/main',
    `${registry}.evil.example/a/-/a-1.2.0.tgz`,
    `https://registry.example:8443/a/-/a-1.2.0.tgz`,
    `https://user:pass@registry.example/a/-/a-1.2.0.tgz`,
    `${registry}/b/-/b-1.2.0.tgz`,
    `${registry}/a/-/a-1.2.1.tgz`,
    `${registry}/a/-/../../evil/-/a-1.2.0.tgz`,
    `${registry}/a/-/a-1.2.0.tgz?x=1`,
    `${registry}/a/-/a-1.2.0.tgz#x`,
    '../a',
    '',
    5,
    null,
  ];
  it.each(refused)('refuses resolved %j', async (resolved) => {
    const result = await withA({ resolved });
    expect(findingsOf(result)).toMatchObject([
      { rule: 'LOCKFILE_ENTRY_REFUSED', place: { file: 'package-lock.json', path: '/packages/node_modules~1a' } },
    ]);
  });

  it('allows none, and those that are configured', async () => {
    expect((await withA({ resolved: `${registry}/a/-/a-1.2.0.tgz` })).ok).toBe(true);
    const tree = lock({
      ...goodTree,
      'node_modules/a': {
        ...(goodTree['node_modules/a'] as object),
        resolved: 'https://mirror.example/npm/a/-/a-1.2.0.tgz',
      },
    });
    expect((await read(tree)).ok).toBe(false);
    expect((await read(tree, undefined, {}, ['https://mirror.example/npm'])).ok).toBe(true);
  });

  it.each(['@s/p/-/p-1.0.0.tgz', '@s%2fp/-/p-1.0.0.tgz'])('allows a scoped package at %s', async (path) => {
    const root = { dependencies: { '@s/p': '1.0.0' } };
    const result = await read(
      lock({ 'node_modules/@s/p': entry('1.0.0', { resolved: `${registry}/${path}` }) }, {}, root),
      root,
    );
    expect(paths(result)).toEqual(['node_modules/@s/p']);
  });
});

describe('integrity', () => {
  const good = sha512('1.2.0');
  it.each([
    undefined,
    '',
    5,
    'sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=',
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=',
    'sha512-',
    'sha512-AAAA',
    `${good}x`,
    `${good}?foo`,
    good.replace('==', ''),
    good.replace(/.==$/, 'B=='),
    `${good} ${sha512('other')}`,
  ])('refuses %j and names the entry', async (integrity) => {
    const result = await withEntry('node_modules/b/node_modules/c', { version: '3.0.9', integrity });
    expect(told(result)).toEqual([
      'error LOCKFILE_ENTRY_REFUSED package-lock.json/packages/node_modules~1b~1node_modules~1c',
    ]);
    expect(findingsOf(result)[0]?.place.line).toBeGreaterThan(1);
  });

  it('takes the sha512 hash among weaker ones', async () => {
    const result = await withA({ integrity: `sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk= ${good}` });
    expect(result.ok && result.pkg.dependencies[0]?.integrity).toBe(good);
  });
});

describe('the path of an entry', () => {
  it.each([
    'node_modules/../../x',
    'node_modules/a/../b',
    '../x',
    '/abs',
    'packages/x',
    'node_modules/',
    'node_modules//x',
    'node_modules/a/node_modules',
    'node_modules/.bin/x',
    'node_modules/a/b',
    'node_modules/@s',
    'node_modules/@s/../x',
    'node_modules/%2e%2e/x',
    'node_modules/a\\..\\x',
    'node_modules/a\u0000',
    'NODE_MODULES/a',
    `node_modules/${'x'.repeat(215)}`,
    `${'node_modules/x/'.repeat(33)}node_modules/x`,
  ])('is refused as %j, also where only development needs it', async (path) => {
    for (const flags of [{}, { dev: true }]) {
      const result = await withEntry(path, entry('1.0.0', flags));
      expect(findingsOf(result).map(({ rule, message }) => `${rule} ${message.includes('not a path')}`)).toEqual([
        'LOCKFILE_ENTRY_REFUSED true',
      ]);
    }
  });
});

describe('what an entry is', () => {
  it.each([
    ['a link', { link: true, resolved: 'packages/a' }, 'link'],
    ['bundled', { inBundle: true }, 'archive'],
    ['bundling others', { bundleDependencies: ['x'] }, 'archive'],
    ['an alias', { name: 'evil' }, '"evil"'],
    ['without a version', { version: undefined }, 'version'],
    ['at a version that is none', { version: 'v1.2.0' }, 'version'],
    ['with an install script', { hasInstallScript: true }, 'install script'],
    ['machine code', { cpu: ['x64'] }, 'machine code'],
    ['for one C library', { libc: ['glibc'] }, 'machine code'],
    ['for another system', { os: ['darwin'] }, 'does not run'],
    ['for another processor', { cpu: ['arm64'] }, 'does not run'],
    ['for another C library', { libc: ['musl'] }, 'does not run'],
  ])('is refused when it is %s', async (_name, more, told) => {
    const findings = findingsOf(await withA(more));
    expect(findings.map(({ rule }) => rule)).toContain('LOCKFILE_ENTRY_REFUSED');
    expect(findings.map(({ message }) => message).join('\n')).toContain(told);
  });

  it.each([
    { os: ['linux', 'darwin'] },
    { os: ['!win32'] },
    { cpu: ['!ia32'] },
    { cpu: ['any'] },
    { bundleDependencies: [] },
    { name: 'a' },
    { license: 'MIT', engines: { node: '>=1' }, deprecated: 'x' },
  ])('is allowed with %j', async (more) => {
    expect((await withA(more)).ok).toBe(true);
  });

  it('hints at JavaScript and WebAssembly in place of machine code', async () => {
    expect(findingsOf(await withA({ hasInstallScript: true }))[0]?.hint).toContain('WebAssembly');
  });

  it('refuses no package for entries that only development needs', async () => {
    const tree = {
      ...goodTree,
      'node_modules/d': { version: 'x', resolved: 'http://evil.example', dev: true, hasInstallScript: true },
    };
    const fields = { dependencies, devDependencies: { d: '1.0.0' } };
    const result = await read(lock(tree, {}, fields), fields);
    expect([paths(result), told(result)]).toEqual([
      expect.objectContaining({ length: 4 }),
      ['notice LOCKFILE_ENTRY_REFUSED package-lock.json/packages/node_modules~1d'],
    ]);
  });

  it('holds an entry to the rules although it claims that only development needs it', async () => {
    expect((await withA({ dev: true })).ok).toBe(true);
    expect((await withA({ dev: true, integrity: undefined })).ok).toBe(false);
  });
});

describe('lockfile and package.json', () => {
  it('needs a lockfile where there are dependencies, and none where there are not', async () => {
    expect(told(await read(null))).toEqual(['error LOCKFILE_MISSING package-lock.json']);
    expect(told(await read(null, { optionalDependencies: { a: '1.0.0' } }))).toEqual([
      'error LOCKFILE_MISSING package-lock.json',
    ]);
    expect(told(await read(null, {}))).toEqual([]);
    expect(told(await read(null, { devDependencies: { a: '1.0.0' } }))).toEqual([]);
  });

  it.each(['npm-shrinkwrap.json', 'yarn.lock', 'pnpm-lock.yaml', 'bun.lock', 'bun.lockb'])(
    'refuses %s beside it and in its place',
    async (file) => {
      expect(told(await read(lock(goodTree), undefined, { [file]: '' }))).toEqual([`error LOCKFILE_INVALID ${file}`]);
      expect(told(await read(null, undefined, { [file]: '' }))).toHaveLength(2);
    },
  );

  it.each([
    ['an older format', { lockfileVersion: 1 }],
    ['an unknown format', { lockfileVersion: 4 }],
    ['a format as text', { lockfileVersion: '3' }],
    ['no format', { lockfileVersion: undefined }],
    ['no packages', { packages: undefined }],
    ['packages in a list', { packages: [] }],
    ['no entry of its own', { packages: goodTree }],
    ['an entry that is none', { packages: { '': { dependencies }, ...goodTree, 'node_modules/a': null } }],
  ])('refuses %s', async (_name, more) => {
    const result = await read(lock(goodTree, more));
    expect(result.ok).toBe(false);
    expect(findingsOf(result)[0]?.rule).toBe('LOCKFILE_INVALID');
  });

  it.each([
    ['another version', { dependencies: { a: '1.2.1' } }],
    ['one less', {}],
    ['one more', { dependencies: { ...dependencies, c: '^3.0.0' } }],
    ['one in another section', { optionalDependencies: dependencies }],
    ['one more for development', { dependencies, devDependencies: { d: '1.0.0' } }],
  ])('refuses a lockfile that was made for %s, and names what differs', async (_name, root) => {
    const findings = findingsOf(await read(lock(goodTree, {}, root)));
    expect(findings.map(({ rule }) => rule)).toContain('LOCKFILE_INVALID');
    expect(findings[0]?.message).toMatch(/package\.json says .*, the lockfile /);
  });

  it('tells of every difference', async () => {
    expect(findingsOf(await read(lock(goodTree, {}, { dependencies: { b: '1', c: '1' } })))).toHaveLength(3);
  });

  it.each(['', '{', '[]', 'null', '\ufeff{}', `{"lockfileVersion":3,"lockfileVersion":3}`, '['.repeat(100_000)])(
    'refuses a lockfile that is no good JSON: %.20j',
    async (text) => {
      const result = await read(text);
      expect(findingsOf(result)[0]).toMatchObject({ rule: 'LOCKFILE_INVALID', place: { file: 'package-lock.json' } });
    },
  );

  it('refuses more than 2000 packages', async () => {
    const many = Object.fromEntries(Array.from({ length: 2000 }, (_, i) => [`node_modules/p${i}`, { dev: true }]));
    expect(told(await read(lock(many)))).toEqual(['error LOCKFILE_INVALID package-lock.json/packages']);
  });
});

it('tells of 2000 refused entries in a large file without looking each up by itself', async () => {
  const names = Array.from({ length: 1999 }, (_, i) => `p${i}`);
  const tree = Object.fromEntries(
    names.map((name) => [`node_modules/${name}`, { version: 'x', resolved: `file:${'x'.repeat(500)}` }]),
  );
  const all = Object.fromEntries(names.slice(0, 200).map((name) => [name, '1.0.0']));
  const result = await read(
    lock(
      {
        ...tree,
        'node_modules/p0': {
          ...tree['node_modules/p0'],
          dependencies: Object.fromEntries(names.map((name) => [name, '*'])),
        },
      },
      {},
      { dependencies: all },
    ),
    { dependencies: all },
  );
  expect(findingsOf(result)).toHaveLength(201);
});

describe('the edges of the tree', () => {
  it('refuses a dependency that is nowhere on its way up', async () => {
    const { 'node_modules/c': _c, ...rest } = goodTree;
    const findings = findingsOf(await read(lock(rest)));
    expect(findings.map(({ message }) => message)).toEqual([
      'node_modules/a depends on "c", which is not in the lockfile',
    ]);
    expect(findings[0]?.place.path).toBe('/packages/node_modules~1a/dependencies/c');
  });

  it('refuses a version out of the range that leads to it', async () => {
    const result = await withEntry('node_modules/c', entry('3.0.0'));
    expect(findingsOf(result).map(({ message }) => message)).toEqual([
      'node_modules/a depends on c@^3.1.0, but node_modules/c is "3.0.0"',
    ]);
  });

  it('refuses a root dependency out of range', async () => {
    expect((await withEntry('node_modules/a', entry('2.0.0'))).ok).toBe(false);
  });

  it('judges the nearest entry, as Node.js finds it', async () => {
    const { 'node_modules/b/node_modules/c': _c, ...rest } = goodTree;
    expect(findingsOf(await read(lock(rest)))[0]?.message).toBe(
      'node_modules/b depends on c@~3.0.0, but node_modules/c is "3.1.4"',
    );
  });

  it.each([
    'git+ssh://git@example.com/x.git',
    'github:u/r',
    'u/r',
    'file:../x',
    'npm:real@1',
    'https://example.com/x.tgz',
    'latest',
    5,
  ])('refuses %j in a dependency of a dependency', async (spec) => {
    const result = await withA({ dependencies: { b: spec, c: '^3.1.0' } });
    expect(told(result)[0]).toBe(
      'error LOCKFILE_ENTRY_REFUSED package-lock.json/packages/node_modules~1a/dependencies/b',
    );
  });

  it.each(['', '*', 'x', '>=2'])('allows any version in a dependency of a dependency: %j', async (spec) => {
    expect((await withA({ dependencies: { b: spec, c: '^3.1.0' } })).ok).toBe(true);
  });

  it('refuses entries that nothing leads to', async () => {
    expect(told(await withEntry('node_modules/z', entry('1.0.0')))).toEqual([
      'error LOCKFILE_INVALID package-lock.json/packages/node_modules~1z',
    ]);
    expect((await withEntry('node_modules/z', entry('1.0.0', { extraneous: true }))).ok).toBe(false);
  });

  it('follows cycles once', async () => {
    const tree = {
      'node_modules/a': entry('1.2.0', { dependencies: { b: '1.0.0' } }),
      'node_modules/b': entry('1.0.0', { dependencies: { a: '1.2.0' } }),
    };
    expect(paths(await read(lock(tree)))).toEqual(['node_modules/a', 'node_modules/b']);
  });

  it('takes peers from beside the package, and only warns where they do not fit', async () => {
    const tree = (peer: object) =>
      lock({ 'node_modules/a': entry('1.2.0', { peerDependencies: { p: '^1.0.0' } }), ...peer });
    expect(paths(await read(tree({ 'node_modules/p': entry('1.5.0', { peer: true }) })))).toEqual([
      'node_modules/a',
      'node_modules/p',
    ]);
    const wrong = await read(tree({ 'node_modules/p': entry('2.0.0', { peer: true }) }));
    expect([wrong.ok, told(wrong).length]).toEqual([true, 1]);
    const missing = await read(tree({}));
    expect([missing.ok, told(missing).length]).toEqual([true, 1]);
  });

  it('needs no peer that is optional', async () => {
    const more = { peerDependencies: { p: '^1.0.0' }, peerDependenciesMeta: { p: { optional: true } } };
    const result = await read(lock({ 'node_modules/a': entry('1.2.0', more) }));
    expect([result.ok, told(result)]).toEqual([true, []]);
  });
});

describe('optional dependencies', () => {
  const tree = (restriction: object) =>
    lock({
      'node_modules/a': entry('1.2.0', { optionalDependencies: { native: '1.0.0' } }),
      'node_modules/native': entry('1.0.0', { optional: true, dependencies: { helper: '1.0.0' }, ...restriction }),
      'node_modules/helper': entry('1.0.0', { optional: true }),
    });

  it.each([{ os: ['darwin'] }, { cpu: ['arm64'] }, { os: ['linux'], libc: ['musl'] }, { os: ['!linux'] }])(
    'are left out with all that only they need where they do not run: %j',
    async (restriction) => {
      expect(paths(await read(tree(restriction)))).toEqual(['node_modules/a']);
    },
  );

  it('are held to the rules of sources even where they are left out', async () => {
    expect((await read(tree({ os: ['darwin'], integrity: undefined }))).ok).toBe(false);
    expect((await read(tree({ os: ['darwin'], hasInstallScript: true }))).ok).toBe(true);
  });

  it('are refused when they are machine code that would run here', async () => {
    expect((await read(tree({ os: ['linux'], cpu: ['x64'], libc: ['glibc'] }))).ok).toBe(false);
  });

  it('are taken when they run anywhere, and may be missing', async () => {
    expect(paths(await read(tree({})))).toEqual(['node_modules/a', 'node_modules/helper', 'node_modules/native']);
    expect(
      paths(await read(lock({ 'node_modules/a': entry('1.2.0', { optionalDependencies: { native: '1.0.0' } }) }))),
    ).toEqual(['node_modules/a']);
  });

  it('count as optional also where they are listed as plain dependencies too', async () => {
    const both = { dependencies: { native: '1.0.0' }, optionalDependencies: { native: '1.0.0' } };
    expect(paths(await read(lock({ 'node_modules/a': entry('1.2.0', both) })))).toEqual(['node_modules/a']);
  });
});
