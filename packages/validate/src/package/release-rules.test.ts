import { createHash } from 'node:crypto';
import type { Edit } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { findingsOf, goodManifest, goodPackageJson, packageDirectory, told } from '../../test/kit.ts';
import { type ReadOptions, readNodePackage } from '../node-package.ts';

const release: ReadOptions = { purpose: 'release', platform: { os: 'linux', cpu: 'x64', libc: 'glibc' } };
const fixture = { 'fixtures/a.json': '{}' };
const entry = (version: string) => ({
  version,
  integrity: `sha512-${createHash('sha512').update(version).digest('base64')}`,
});

/** The text after the edits, last first so that none moves another. */
function edited(text: string, edits: readonly Edit[]): string {
  const lines = text.split('\n');
  const starts = lines.map((_, i) => lines.slice(0, i).join('\n').length + (i === 0 ? 0 : 1));
  const offset = ({ line, column }: Edit['start']): number => (starts[line - 1] ?? 0) + column - 1;
  return [...edits]
    .sort((a, b) => offset(b.start) - offset(a.start))
    .reduce((all, { start, end, text: by }) => all.slice(0, offset(start)) + by + all.slice(offset(end)), text);
}

const read = (files: { [path: string]: string | null }, options: ReadOptions = release) =>
  readNodePackage(packageDirectory({ ...fixture, ...files }), options);

describe('a fixture', () => {
  it('is needed for a release, at its place, and not for a trial', async () => {
    expect(told(await read({ 'fixtures/a.json': null }))).toEqual(['error FIXTURE_MISSING fixtures']);
    expect(told(await read({ 'fixtures/a.json': null, 'fixtures/deep/a.json': '{}', 'fixtures/a.txt': '' }))).toEqual([
      'error FIXTURE_MISSING fixtures',
    ]);
    expect(told(await read({}))).toEqual([]);
    expect(told(await read({ 'fixtures/a.json': null }, {}))).toEqual([]);
  });
});

describe('a version', () => {
  it.each(['1.0.0+build.5', `1.0.0-${'a'.repeat(60)}`, '1234567890.0.0'])(
    'that no reference can name is refused for a release: %s',
    async (version) => {
      const files = { 'package.json': JSON.stringify({ ...goodPackageJson, version }) };
      expect(told(await read(files))).toEqual(['error PACKAGE_JSON_INVALID package.json/version']);
      expect(told(await read(files, {}))).toEqual([]);
    },
  );
});

describe('a range in package.json', () => {
  const packageText = (specs: object) => JSON.stringify({ ...goodPackageJson, dependencies: specs }, null, 2);
  const lockText = (specs: object, versions: { [name: string]: string }) =>
    JSON.stringify(
      {
        lockfileVersion: 3,
        packages: {
          '': { dependencies: specs },
          ...Object.fromEntries(
            Object.entries(versions).map(([name, version]) => [`node_modules/${name}`, entry(version)]),
          ),
        },
      },
      null,
      2,
    );

  it.each(['^1.0.0', '~1.2', '1.x', '>=1 <3', '^1 || ^2', '=1.2.3', 'v1.2.3'])(
    'is refused for a release, and a trial warns of it: %s',
    async (range) => {
      const specs = { a: range };
      const files = { 'package.json': packageText(specs), 'package-lock.json': lockText(specs, { a: '1.2.3' }) };
      const place = 'PACKAGE_JSON_INVALID package.json/dependencies/a';
      expect(told(await read(files))).toEqual([`error ${place}`]);
      expect(told(await read(files, { platform: { os: 'linux', cpu: 'x64', libc: 'glibc' } }))).toEqual([
        `warning ${place}`,
      ]);
    },
  );

  it('is no range when it is one version', async () => {
    const specs = { a: '1.2.3', b: '1.0.0-beta.1' };
    const files = {
      'package.json': packageText(specs),
      'package-lock.json': lockText(specs, { a: '1.2.3', b: '1.0.0-beta.1' }),
    };
    expect(told(await read(files))).toEqual([]);
  });

  it('is mended by the version that the lockfile has, in both files', async () => {
    const specs = { a: '^1.0.0', '@s/b': '2.x' };
    const files = {
      'package.json': packageText(specs),
      'package-lock.json': lockText(specs, { a: '1.2.3', '@s/b': '2.0.1' }),
    };
    const findings = findingsOf(await read(files));
    expect(findings.map(({ fix }) => fix?.title)).toEqual(['Pin it to 1.2.3', 'Pin it to 2.0.1']);
    const edits = findings.flatMap(({ fix }) => fix?.edits ?? []);
    const mended = Object.fromEntries(
      Object.entries(files).map(([file, text]) => [
        file,
        edited(
          text,
          edits.filter((edit) => edit.file === file),
        ),
      ]),
    );
    expect(told(await read(mended))).toEqual([]);
  });

  it('has no fix where the lockfile does not say what fits', async () => {
    const specs = { a: '^1.0.0' };
    const other = { 'package.json': packageText(specs), 'package-lock.json': lockText(specs, { a: '2.0.0' }) };
    const [pin] = findingsOf(await read(other)).filter(({ rule }) => rule === 'PACKAGE_JSON_INVALID');
    expect(pin).toMatchObject({ severity: 'error' });
    expect(pin?.fix).toBeUndefined();
  });

  it('is only warned of where it is for development', async () => {
    const fields = { devDependencies: { d: '^1.0.0' } };
    const files = {
      'package.json': JSON.stringify({ ...goodPackageJson, ...fields }),
      'package-lock.json': JSON.stringify({
        lockfileVersion: 3,
        packages: { '': fields, 'node_modules/d': { ...entry('1.5.0'), dev: true } },
      }),
    };
    const [finding, ...more] = findingsOf(await read(files));
    expect([finding?.severity, finding?.fix?.title, more]).toEqual(['warning', 'Pin it to 1.5.0', []]);
    expect(told(await read(files, {}))).toEqual([]);
  });
});

describe('a fix of node.json', () => {
  const fixesOf = async (text: string) => findingsOf(await read({ 'node.json': text })).flatMap(({ fix }) => fix ?? []);
  const manifest = (text: string) =>
    `{ "schemaVersion": 1, "id": "sample-node", "title": "x", "input": {}, "output": {}${text} }`;

  it.each([
    ['renames a field that is one slip away', manifest(', "sideEfect": "read"'), manifest(', "sideEffect": "read"')],
    ['renames a field in another case', manifest(', "sideeffect": "read"'), manifest(', "sideEffect": "read"')],
    ['writes the word that was meant', manifest(', "sideEffect": "raed"'), manifest(', "sideEffect": "read"')],
    ['sets the id', manifest('').replace('sample-node', 'other-node'), manifest('')],
    [
      'keeps an escaped name apart',
      manifest(', "resources": { "mem\\u006fri": "64MiB" }'),
      manifest(', "resources": { "memory": "64MiB" }'),
    ],
  ])('%s, and then it passes', async (_name, text, mended) => {
    const fixes = await fixesOf(text);
    expect(fixes).toHaveLength(1);
    expect(edited(text, fixes[0]?.edits ?? [])).toBe(mended);
    expect(told(await read({ 'node.json': mended }))).toEqual([]);
  });

  it.each([
    ['another field has the name', manifest(', "titel": "y"')],
    ['two fields would have it', JSON.stringify({ ...goodManifest, idempotnt: true, idempotentt: true })],
    ['it is like nothing', manifest(', "colour": "red"')],
    ['two words are as near', manifest(', "sideEffect": "xone"').replace('xone', 'x')],
  ])('is not offered where %s', async (_name, text) => {
    expect(await fixesOf(text)).toEqual([]);
  });
});

describe('a dependency with the name of a well-known package but for a letter', () => {
  const noticed = async (...names: string[]) => {
    const devDependencies = Object.fromEntries(names.map((name) => [name, '1.0.0']));
    const result = await read({ 'package.json': JSON.stringify({ ...goodPackageJson, devDependencies }, null, 2) });
    expect(result.ok).toBe(true);
    return findingsOf(result).map(({ severity, message, place }) => `${severity} ${place.line} ${message}`);
  };

  it.each([
    ['1odash', 'lodash'],
    ['loadsh', 'lodash'],
    ['lodahs', 'lodash'],
    ['expres', 'express'],
    ['z0dd', undefined],
    ['axois', 'axios'],
    ['lodash', undefined],
    ['preact', undefined],
    ['@acme/lodas', undefined],
    ['zoo', undefined],
    ['my-own-package', undefined],
  ])('is told: %s for %s', async (name, like) => {
    const message = `notice 7 ${name} is one letter away from the well-known package ${like}`;
    expect(await noticed(name)).toEqual(like === undefined ? [] : [message]);
  });
});

describe('what a package calls itself', () => {
  const identityOf = async (files: { [path: string]: string | null }) => {
    const result = await read(files);
    return result.ok ? undefined : result.identity;
  };

  it('is told although the rest is wrong', async () => {
    const broken = { 'node.json': JSON.stringify({ ...goodManifest, resources: 5, input: [] }) };
    expect(await identityOf(broken)).toEqual({ id: 'sample-node', version: '1.2.3', title: 'Sample' });
    expect(await identityOf({ 'src/index.ts': null })).toEqual({
      id: 'sample-node',
      version: '1.2.3',
      title: 'Sample',
    });
    expect(await identityOf({ 'node.json': '{' })).toEqual({
      id: 'sample-node',
      version: '1.2.3',
      title: 'sample-node',
    });
  });

  it.each([
    ['no version', { 'package.json': JSON.stringify({ ...goodPackageJson, version: undefined }) }],
    [
      'a name that leads out',
      { 'node.json': '{}', 'package.json': JSON.stringify({ ...goodPackageJson, name: '../sample-node' }) },
    ],
    ['no package.json', { 'package.json': null }],
    ['no name at all', { 'node.json': '{}', 'package.json': JSON.stringify({ ...goodPackageJson, name: '../x' }) }],
  ])('is not known with %s', async (_name, files) => {
    expect(await identityOf(files)).toBeUndefined();
  });
});
