import { describe, expect, it } from 'vitest';
import { findingsOf, goodPackageJson, packageDirectory, told } from '../../test/kit.ts';
import { readNodePackage } from '../node-package.ts';

const read = (files: { [path: string]: string }) => readNodePackage(packageDirectory(files));
const withFields = (fields: object, files: { [path: string]: string } = {}) =>
  read({ 'package.json': JSON.stringify({ ...goodPackageJson, ...fields }, null, 2), ...files });

describe('JavaScript beside TypeScript of its name', () => {
  it.each([
    ['src/a.ts', 'src/a.js'],
    ['src/a.ts', 'src/a.jsx'],
    ['src/a.tsx', 'src/a.js'],
    ['src/a.mts', 'src/a.mjs'],
    ['src/a.cts', 'src/a.cjs'],
    ['src/a.ts', 'src/a.js.ts'],
    ['a.ts', 'a.js.json'],
    ['src/.a.ts', 'src/.a.js'],
  ])('is refused: %s, %s', async (source, script) => {
    const findings = findingsOf(await read({ [source]: '', [script]: '' }));
    expect(findings).toMatchObject([{ rule: 'PACKAGE_INVALID', severity: 'error', place: { file: script } }]);
    expect(findings[0]?.message).toContain(source);
  });

  it('is taken where the names differ, or it has declarations alone', async () => {
    const files = ['src/a.ts', 'src/a.mjs', 'src/b.js', 'src/b.d.ts', 'lib/a.js', 'src/a.test.js', 'src/a.json'];
    expect(
      told(await read(Object.fromEntries(files.map((path) => [path, path.endsWith('json') ? '{}' : ''])))),
    ).toEqual([]);
  });
});

describe('a condition that the type checker alone obeys', () => {
  const targets = { types: './lib/ok.d.ts', default: './lib/bad.ts' };

  it.each([
    [{ imports: { '#x': targets } }, '/imports/#x/types'],
    [{ imports: { '#x': [{ node: { 'types@>=5': './a.d.ts' } }] } }, '/imports/#x/0/node/types@>=5'],
    [{ exports: targets }, '/exports/types'],
    [{ exports: { './x': { import: targets } } }, '/exports/.~1x/import/types'],
  ])('is refused: %j', async (fields, path) => {
    expect(findingsOf(await withFields(fields))).toMatchObject([
      { rule: 'PACKAGE_JSON_INVALID', severity: 'error', place: { file: 'package.json', path } },
    ]);
  });

  it('is refused in a package.json beside or above code of its own, which must be JSON', async () => {
    const inner = JSON.stringify({ imports: { '#x': targets } }, null, 2);
    expect(findingsOf(await read({ 'src/x/package.json': inner, 'src/x/y/a.js': '' }))).toMatchObject([
      { place: { file: 'src/x/package.json', path: '/imports/#x/types', line: 4, column: 7 } },
    ]);
    expect(told(await read({ 'src/x/package.json': '{,}', 'src/x/a.ts': '' }))).toEqual([
      'error PACKAGE_JSON_INVALID src/x/package.json',
    ]);
  });

  it('is nothing to tell of where there is no code, and no other is', async () => {
    const inner = JSON.stringify({ imports: { '#x': targets } });
    expect(told(await read({ 'test/data/package.json': inner, 'test/broken/package.json': '{,}' }))).toEqual([]);
    const conditions = { node: './lib/a.ts', import: './lib/a.ts', default: './lib/a.ts' };
    const fields = { imports: { '#x': conditions, '#types': './lib/a.ts' }, exports: { './types': conditions } };
    expect(told(await withFields({ ...fields, types: './x.d.ts' }, { 'lib/a.ts': '' }))).toEqual([]);
  });

  it('does not have an unreadable package.json told of twice', async () => {
    expect(told(await read({ 'package.json': '{' }))).toEqual(['error PACKAGE_JSON_INVALID package.json']);
  });
});
