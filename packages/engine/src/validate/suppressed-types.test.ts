import { describe, expect, it } from 'vitest';
import { suppressedTypes } from './suppressed-types.ts';

const lines = (text: string | Buffer, path = 'src/index.ts') =>
  suppressedTypes(new Map([[path, Buffer.from(text)]])).map(({ rule, place }) => [rule, place.file, place.line]);
const found = (line: number, path = 'src/index.ts') => [['TYPES_SUPPRESSED', path, line]];

describe('a comment that switches the type check off', () => {
  it.each([
    ['in the first line', '// @ts-nocheck\nx', 1],
    ['of three slashes', '/// @ts-nocheck\nx', 1],
    ['in capitals', '// @TS-NoCheck\nx', 1],
    ['without a space', '//@ts-nocheck', 1],
    ['with words after it', '\n\n// @ts-nocheck: later\nx', 3],
    ['after other comments', '/* a\n b */ // c\n// d\r\n\t// @ts-nocheck\nx', 4],
    ['after a hashbang', '#!/usr/bin/env node\n// @ts-nocheck\nx', 2],
    ['after marks that are no white space elsewhere', '\ufeff\ufeff\u0085\u200b\f\v// @ts-nocheck\nx', 1],
    ['after a line end that is one to TypeScript alone', '// a\u2028// @ts-nocheck\nx', 1],
    ['in a file of UTF-16', Buffer.from('\ufeff// @ts-nocheck\nx', 'utf16le'), 1],
    ['in a file of UTF-16, the other end first', Buffer.from('\ufeff// @ts-nocheck\nx', 'utf16le').swap16(), 1],
  ])('is found %s', (_, text, line) => {
    expect(lines(text)).toEqual(found(line));
  });

  it.each(['src/a.mts', 'test/b.cts', 'src/c.TSX', 'lib/elsewhere.ts'])('is found in %s', (path) => {
    expect(lines('// @ts-nocheck', path)).toEqual(found(1, path));
  });

  it.each([
    ['in a block comment', '/* @ts-nocheck */ x'],
    ['behind code', 'x; // @ts-nocheck'],
    ['in a text', 'const x = "// @ts-nocheck"'],
    ['as part of a longer word', '// @ts-nochecks'],
    ['in the middle of a comment', '// never @ts-nocheck here'],
    ['in a block comment that does not end', '/* \n// @ts-nocheck'],
    ['which is for one line alone', '// @ts-expect-error: the package has no types\nx'],
  ])('is none %s', (_, text) => {
    expect(lines(text)).toEqual([]);
  });

  it('is none in a file that is not TypeScript', () => {
    expect(lines('// @ts-nocheck', 'src/notes.md')).toEqual([]);
  });

  it('is looked for in linear time', () => {
    const large = `${'/**/ '.repeat(400_000)}\n${'// a\n'.repeat(400_000)}x`;
    expect(lines(large)).toEqual([]);
    expect(lines(`${large.slice(0, -1)}// @ts-nocheck`)).toEqual(found(400_002));
  });
});
