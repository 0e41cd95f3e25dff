import { describe, expect, it } from 'vitest';
import { printable } from './printable.ts';

describe('printable', () => {
  it('leaves text of any language as it is', () => {
    for (const text of ['src/index.ts', 'grüße/名前.ts', 'a "b" \\ 😀']) expect(printable(text)).toBe(text);
  });

  it('spells out what moves a cursor, ends a line or turns the text around', () => {
    expect(printable('a\x1b[2Jb\r\nc\0\x7f\x9b')).toBe('a\\u{1b}[2Jb\\u{d}\\u{a}c\\u{0}\\u{7f}\\u{9b}');
    expect(printable('a\u202egpj.exe\u2066\u200f\ufeff\u2028')).toBe(
      'a\\u{202e}gpj.exe\\u{2066}\\u{200f}\\u{feff}\\u{2028}',
    );
    expect(printable('a\ud800b')).toBe('a\\u{d800}b');
  });

  it('cuts what is too long, and says so', () => {
    expect(printable('abcdef', 3)).toBe('abc…');
    expect(printable('abc', 3)).toBe('abc');
  });
});
