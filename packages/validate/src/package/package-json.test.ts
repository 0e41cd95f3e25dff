import { describe, expect, it } from 'vitest';
import { findingsOf, goodManifest, goodPackageJson, packageDirectory, told } from '../../test/kit.ts';
import { readNodePackage } from '../node-package.ts';
import { isSemver } from './package-json.ts';

const withFields = (fields: object, files: { [path: string]: string } = {}) =>
  readNodePackage(packageDirectory({ 'package.json': JSON.stringify({ ...goodPackageJson, ...fields }), ...files }));

it('allows fields that mean nothing here', async () => {
  expect(
    told(
      await withFields({
        description: 'x',
        private: true,
        scripts: { test: 'node --test' },
        engines: { node: '>=24' },
        main: 'x',
      }),
    ),
  ).toEqual([]);
});

it.each([
  ['/name', { name: undefined }],
  ['/name', { name: '' }],
  ['/name', { name: 5 }],
  ['/name', { name: '@acme/Sample-Node' }],
  ['/name', { name: '../sample-node' }],
  ['/name', { name: '.sample-node' }],
  ['/name', { name: 'a/b' }],
  ['/version', { version: undefined }],
  ['/version', { version: 'v1.2.3' }],
  ['/version', { version: '1.2' }],
  ['/version', { version: '1.2.3 ' }],
  ['/version', { version: '01.2.3' }],
  ['/version', { version: 'latest' }],
  ['/license', { license: undefined }],
  ['/license', { license: '' }],
  ['/license', { license: { type: 'MIT' } }],
  ['/type', { type: 'commonjs' }],
  ['/overrides', { overrides: { a: '1' } }],
  ['/resolutions', { resolutions: { a: '1' } }],
  ['/bundleDependencies', { bundleDependencies: ['a'] }],
  ['/bundledDependencies', { bundledDependencies: true }],
  ['/peerDependencies', { peerDependencies: { a: '^1.0.0' } }],
  ['/workspaces', { workspaces: ['x'] }],
  ['/dependencies', { dependencies: ['a'] }],
])('refuses %s as in %j', async (path, fields) => {
  const errors = findingsOf(await withFields(fields)).filter(({ severity }) => severity === 'error');
  expect(errors).toMatchObject([{ rule: 'PACKAGE_JSON_INVALID', place: { file: 'package.json', path } }]);
});

describe('a dependency that is no range of the registry', () => {
  const specs = [
    'git+ssh://git@example.com/a/b.git',
    'git+https://example.com/a/b.git#v1',
    'git://example.com/a/b.git',
    'git@example.com:a/b.git',
    'github:user/repo',
    'gitlab:user/repo',
    'user/repo',
    'user/repo#semver:^1.0.0',
    'https://example.com/a.tgz',
    'http://example.com/a.tgz',
    'file:../other',
    'file:./inside',
    '../other',
    './inside',
    '/absolute',
    '~/home',
    'link:../other',
    'portal:../other',
    'workspace:*',
    'workspace:^1.0.0',
    'catalog:',
    'patch:a@1.0.0#x.patch',
    'npm:1odash@^4.0.0',
    'latest',
    'next',
    '',
    '*',
    'x',
    '>=0.0.0-0 || *',
    '1.2.3\n',
    `^1.0.0 ${'|| ^1.0.0 '.repeat(100)}`,
  ];
  const sections = ['dependencies', 'devDependencies', 'optionalDependencies'];
  it.each(sections.flatMap((section) => specs.map((spec) => [section, spec] as const)))(
    'is refused in %s: %j',
    async (section, spec) => {
      const result = await withFields({ [section]: { lodash: spec } });
      expect(findingsOf(result)).toContainEqual(
        expect.objectContaining({
          rule: 'PACKAGE_JSON_INVALID',
          severity: 'error',
          place: expect.objectContaining({ path: `/${section}/lodash` }),
        }),
      );
    },
  );

  it('shows the real name behind an alias', async () => {
    const [finding] = findingsOf(await withFields({ dependencies: { lodash: 'npm:1odash@^4.0.0' } }));
    expect(finding?.message).toContain('1odash@^4.0.0');
  });

  it.each(['1.2.3', '^1.2.3', '~1.2', '1.x', '>=1 <3', '1.2.3 - 2', '^1 || ^2', '1.0.0-beta.1', '=1.2.3', 'v1.2.3'])(
    'is not what %s is',
    async (spec) => {
      expect(told(await withFields({ devDependencies: { lodash: spec } }))).toEqual([]);
    },
  );
});

it.each(['../x', 'a/b', '.hidden', 'node_modules', '@scope', '@/x', 'a b', 'a\u0000', '%2e%2e', 'x'.repeat(215)])(
  'refuses the dependency name %j',
  async (name) => {
    const result = await withFields({ devDependencies: { [name]: '1.0.0' } });
    expect(result.ok).toBe(false);
  },
);

it.each(['lodash', '@types/node', 'JSONStream', '_', 'a.b', 'x~y'])('allows the dependency name %j', async (name) => {
  expect((await withFields({ devDependencies: { [name]: '1.0.0' } })).ok).toBe(true);
});

it('refuses one dependency in two sections', async () => {
  const result = await withFields({ dependencies: { a: '1.0.0' }, devDependencies: { a: '1.0.0' } });
  expect(told(result)).toContain('error PACKAGE_JSON_INVALID package.json/devDependencies/a');
});

it('tells of install scripts in the package itself: they never run', async () => {
  const result = await withFields({ scripts: { preinstall: 'x', postinstall: 'x', prepare: 'x', test: 'x' } });
  expect(result.ok).toBe(true);
  expect(told(result)).toEqual(
    ['preinstall', 'postinstall', 'prepare'].map((name) => `warning PACKAGE_JSON_INVALID package.json/scripts/${name}`),
  );
});

it('warns of a missing type, publishConfig', async () => {
  const result = await withFields({ type: undefined, publishConfig: { registry: 'https://evil.example' } });
  expect(told(result)).toEqual([
    'warning PACKAGE_JSON_INVALID package.json',
    'warning PACKAGE_JSON_INVALID package.json/publishConfig',
  ]);
});

it('does not ask for an id where the name is not valid', async () => {
  const result = await withFields(
    { name: 'UPPER' },
    { 'node.json': JSON.stringify({ ...goodManifest, id: 'whatever' }) },
  );
  expect(told(result)).toEqual(['error PACKAGE_JSON_INVALID package.json/name']);
});

it.each([
  ['0.0.0', true],
  ['1.0.0-alpha.1+build.5', true],
  ['1.0.0-0a', true],
  ['1.0.0-01', false],
  ['1.0.0-', false],
  ['1.0.0+', false],
  ['1.0.0\n', false],
  ['99999999999999999999.0.0', false],
  [`1.0.0-${'a'.repeat(200)}`, false],
])('takes %j for a semantic version: %j', (text, expected) => {
  expect(isSemver(text)).toBe(expected);
});
