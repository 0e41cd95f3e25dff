import { describe, expect, it } from 'vitest';
import { isPackagePath, PathSet, pathProblem } from './names.ts';

describe('pathProblem', () => {
  it.each(['a', 'a/b.ts', 'ünïcode/名前', 'a b', '...', '.npmrc', 'a/..b', 'C:x', `${'n'.repeat(255)}`])(
    'takes %j',
    (path) => {
      expect(pathProblem(path)).toBeUndefined();
    },
  );

  it.each([
    '',
    '/abs',
    '////abs',
    'a//b',
    'a/',
    '.',
    './a',
    'a/./b',
    'a/.',
    '..',
    '../a',
    'a/../../b',
    'a/..',
    './..',
    'a\\..\\b',
    '\\\\server\\x',
    'a\0b',
    'a\nb',
    'a\x1b[2Jb',
    'a\x9bb',
    'a\ud800',
    'n'.repeat(256),
    'é'.repeat(128),
    `${'a/'.repeat(32)}a`,
    `${`${'n'.repeat(200)}/`.repeat(6)}a`,
  ])('refuses %j', (path) => {
    expect(pathProblem(path)).toEqual(expect.any(String));
  });
});

describe('isPackagePath', () => {
  it.each([
    'node_modules/a',
    'node_modules/@a/b',
    'node_modules/a/node_modules/@b/c',
    'node_modules/JSONStream',
    'node_modules/a.b',
    'node_modules/@_a/_b',
  ])('takes %s', (path) => expect(isPackagePath(path)).toBe(true));

  it.each([
    'a',
    'node_modules',
    'node_modules/',
    'node_modules/..',
    'node_modules/../x',
    'node_modules/.bin',
    'node_modules/a/b',
    'node_modules/@a',
    'node_modules/@a/b/c',
    'node_modules/a/node_modules',
    'node_modules/node_modules',
    'node_modules/@a/Node_Modules',
    `node_modules/${'n'.repeat(215)}`,
    'node_modules/a/../../x',
    '/node_modules/a',
    'src/node_modules/a',
    'node_modules/a%2f',
  ])('refuses %s', (path) => expect(isPackagePath(path)).toBe(false));
});

describe('PathSet', () => {
  const first = (...paths: string[]) => {
    const set = new PathSet();
    return paths.map((path) => set.add(path, path.endsWith('/') ? 'directory' : 'file')).at(-1);
  };

  it('takes different paths, and a directory again', () => {
    const set = new PathSet();
    for (const path of ['a/b', 'a/c', 'b', 'ab']) expect(set.add(path, 'file')).toBeUndefined();
    expect(set.add('a', 'directory')).toBeUndefined();
    expect(set.add('a', 'directory')).toBeUndefined();
  });

  it.each([
    ['a/b', 'a/b'],
    ['README.md', 'readme.MD'],
    ['lib/a', 'Lib/b'],
    ['caf\u00e9', 'cafe\u0301'],
    ['a', 'a/b'],
    ['a/b', 'a'],
  ])('refuses %j with %j', (one, other) => {
    expect(first(one, other)).toEqual(expect.any(String));
  });
});
