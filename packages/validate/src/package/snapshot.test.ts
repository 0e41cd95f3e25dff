import { describe, expect, it } from 'vitest';
import { packageDirectory } from '../../test/kit.ts';
import { gatherSnapshot, readSnapshotDir } from '../node-package.ts';
import { packageLimits } from './limits.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
type Entry = [path: string, content: Uint8Array];
const file = (path: string, content = 'x'): Entry => [path, bytes(content)];
const many = (count: number): Entry[] => Array.from({ length: count }, (_, i) => file(`f${i}`));

const refusals = async (...entries: Entry[]): Promise<string[]> => {
  const result = await gatherSnapshot(entries);
  return result.ok ? [] : result.findings.map(({ rule, check }) => `${check} ${rule}`);
};

it('gives the same snapshot as the directory that the files come from', async () => {
  const dir = packageDirectory({ 'fixtures/é.json': '{}', 'fixtures/Z.json': '{}', 'node_modules/a/x.js': '1' });
  const walked = await readSnapshotDir(dir);
  if (!walked.ok) throw new Error('refused');
  const sent = await gatherSnapshot([...walked.files].reverse());
  expect(sent).toEqual({ ok: true, files: walked.files, warnings: [] });
  expect(sent.ok && [...sent.files.keys()]).toEqual([...walked.files.keys()]);
});

it('tells why a directory is no snapshot', async () => {
  const dir = packageDirectory({ 'big.bin': new Uint8Array(packageLimits.fileBytes + 1) });
  const walked = await readSnapshotDir(dir);
  expect(walked).toMatchObject({ ok: false, findings: [{ rule: 'PACKAGE_TOO_LARGE', place: { file: 'big.bin' } }] });
});

describe('a path', () => {
  it.each([
    '',
    '/abs',
    '////abs',
    '../x',
    'a/../x',
    './x',
    'a/./x',
    'a//x',
    'a/',
    'a\u0000b',
    'a\nb',
    'a\\b',
    '\u202egnp.exe',
    'a\ud800b',
    'x'.repeat(packageLimits.nameBytes + 1),
    `${'abcdefgh/'.repeat(15)}${'y'.repeat(250)}/${'y'.repeat(250)}/${'y'.repeat(250)}/${'y'.repeat(250)}`,
  ])('is refused as %j', async (path) => {
    expect(await refusals(file(path))).toEqual(['package PACKAGE_NAME_REFUSED']);
  });

  it.each(['src/index.ts', 'é', 'a.b/c d', '…', '__proto__', 'constructor/toString'])(
    'is taken as %j',
    async (path) => {
      expect(await refusals(file(path))).toEqual([]);
    },
  );

  it.each([
    'node_modules/a/index.js',
    'src/node_modules/a.js',
    '.git/config',
    'a/.git',
    'dist/index.js',
    '.glovebox/x',
  ])('is refused where it is no part of a package: %j', async (path) => {
    expect(await refusals(file(path))).toEqual(['package PACKAGE_FILE_REFUSED']);
  });

  it('may be 16 directories deep and no deeper', async () => {
    expect(await refusals(file(`${'d/'.repeat(packageLimits.depth)}x`))).toEqual([]);
    expect(await refusals(file(`${'d/'.repeat(packageLimits.depth + 1)}x`))).toEqual(['package PACKAGE_TOO_LARGE']);
  });
});

describe('two paths', () => {
  it.each([
    ['a', 'a'],
    ['a', 'A'],
    ['src/é', 'src/e\u0301'],
    ['a', 'a/b'],
    ['a/b', 'a'],
    ['Dir/x', 'dir/y'],
    ['straße', 'STRASSE'],
  ])('are refused where some file system takes them for one: %j and %j', async (one, other) => {
    expect(await refusals(file(one), file(other))).toEqual(['package PACKAGE_NAME_REFUSED']);
  });

  it.each([
    ['a/x', 'b/X'],
    ['a/b', 'a/c'],
    ['a', 'b/a'],
  ])('are taken where none does: %j and %j', async (one, other) => {
    expect(await refusals(file(one), file(other))).toEqual([]);
  });
});

describe('size', () => {
  it('allows 256 files and refuses one more, without looking at the rest', async () => {
    expect(await refusals(...many(packageLimits.files))).toEqual([]);
    expect(await refusals(...many(packageLimits.files + 1))).toEqual(['package PACKAGE_TOO_LARGE']);
    let taken = 0;
    const endless = (function* () {
      for (; ; taken++) yield file(`f${taken}`);
    })();
    expect((await gatherSnapshot(endless)).ok).toBe(false);
    expect(taken).toBe(packageLimits.files);
  });

  it('allows a file of 2 MiB and refuses one byte more', async () => {
    expect(await refusals(['a', new Uint8Array(packageLimits.fileBytes)])).toEqual([]);
    expect(await refusals(['a', new Uint8Array(packageLimits.fileBytes + 1)])).toEqual(['package PACKAGE_TOO_LARGE']);
  });

  it('allows 32 MiB in all and refuses one byte more', async () => {
    const largest = Array.from({ length: 16 }, (_, i): Entry => [`f${i}`, new Uint8Array(packageLimits.fileBytes)]);
    expect(await refusals(...largest)).toEqual([]);
    expect(await refusals(...largest, file('more', '1'))).toEqual(['package PACKAGE_TOO_LARGE']);
  });
});
