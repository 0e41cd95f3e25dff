import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseTarget } from './target.ts';

function reasonOf(url: string): string {
  const read = parseTarget(url);
  return read.kind === 'denied' ? read.reason : `read as ${read.target.host}`;
}

describe('a path that servers read in more than one way', () => {
  it.each(['/a%2Fb', '/a%252Fb', '/a%5cb', '/a%255cb', '/a%2Fb%252Fc', '/a%25252e', '/100%2525'])(
    'is read: %s',
    (path) => {
      expect(reasonOf(`https://example.com${path}`)).toBe('read as example.com');
    },
  );

  it.each([
    ...['/.', '/..', '/./', '/../', '/a/..', '/a/../b', '/a/./b', '/a/.', '//..', '/a//../b'],
    ...['/%2e', '/%2E%2e', '/.%2e/', '/%2e./a', '/a/%2e%2e/b', '/%252e%252e', '/%25252e%25252e/x', '/.%252e'],
    ...['/..%2f', '/..%2Fa', '/%2e%2e%2f', '/a%2f..%2fb', '/..%5c', '/..%5Ca', '/a%5c..%5cb', '/..%252f', '/a%255c..'],
    ...[
      '/..;',
      '/..;/a',
      '/..;x=y/a',
      '/.;/a',
      '/%2e%2e;/a',
      '/..%3b/a',
      '/..%3Bx/a',
      '/..%253b',
      '/;/a',
      '/;x',
      '/a/;x/b',
      '/%3bx',
    ],
    ...['/..%20', '/%20../a', '/..%09', '/..%a0', '/..%c2%a0/'],
    ...['/%00', '/a%00', '/a%2500', '/%0d%0a', '/a%0Ab', '/a%0d', '/%0D', '/%1f', '/%7f', '/a%250d%250ab', '/..%00/'],
    ...[
      '/%c0%ae%c0%ae/',
      '/%c0%af',
      '/%e0%80%ae',
      '/%f0%80%80%ae',
      '/%ff',
      '/%c3',
      '/%80',
      '/%25c0%25ae',
      '/%ed%a0%80',
    ],
    ...['/%', '/%2', '/%zz', '/100%', '/%u002e', '/%%32e', '/a%2gb', '/%2e%'],
    ...['/%ef%bc%8e%ef%bc%8e/', '/．．/a', '/%E2%80%A5/a', '/..%ef%bc%8fa', '/..%EF%BC%BCa', '/%e2%80%a4%e2%80%a4/'],
    ...['/a%25252Fb', '/a%25255cb', '/a%2525252Fb', `/%25${'25'.repeat(12)}2e`],
  ])('is refused: %s', (path) => {
    expect(reasonOf(`https://example.com${path}`)).toMatch(/^(PATH_AMBIGUOUS)$/);
    expect(reasonOf(`https://example.com/a${path}?b=c`)).toMatch(/^(PATH_AMBIGUOUS)$/);
  });

  it('is read in the end by every decoder in the same place, or refused', () => {
    const piece = fc.constantFrom(
      '/',
      '.',
      '..',
      '%2e',
      '%2f',
      '%5c',
      '%25',
      '2e',
      '%3b',
      ';',
      'a',
      'v1',
      '%C3%A9',
      '*',
      '//',
    );
    const seen = { refused: 0, read: 0 };
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 10 }), (pieces) => {
        const read = parseTarget(`https://example.com/${pieces.join('')}`);
        if (read.kind === 'denied') {
          seen.refused++;
          expect(read.reason).toBe('PATH_AMBIGUOUS');
          return;
        }
        seen.read++;
        let text = read.target.path;
        for (let round = 0; round < 12; round++) {
          // What a file server would open for it stays below its root.
          for (const segment of text.split(/[/\\]/)) expect(['.', '..']).not.toContain(segment.split(';')[0]);
          text = text.replace(/%([0-9a-fA-F]{2})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
        }
      }),
      { seed: 56, numRuns: 2000 },
    );
    expect(Math.min(seen.refused, seen.read)).toBeGreaterThan(200);
  });
});
