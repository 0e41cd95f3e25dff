import { describe, expect, it } from 'vitest';
import type { Target } from './api.ts';
import { parseTarget } from './target.ts';

function targetOf(url: string): Target {
  const read = parseTarget(url);
  if (read.kind === 'denied') throw new Error(`${url}: ${read.reason}`);
  return read.target;
}

function reasonOf(url: string): string {
  const read = parseTarget(url);
  return read.kind === 'denied' ? read.reason : `read as ${read.target.host}`;
}

describe('a host that is an address', () => {
  it.each([
    ...[
      '127.0.0.1',
      '127.1',
      '127.0.1',
      '2130706433',
      '0x7f000001',
      '0X7F.1',
      '0x7f.0.0.1',
      '0x7f.0x0.0x0.0x1',
      '0177.0.0.1',
    ],
    ...['017700000001', '00000177.0.0.1', '127.0x1', '0x7f.1', '0177.1', '127.000000001'],
  ])('is 127.0.0.1 where it is spelled %s', (host) => {
    const target = targetOf(`http://${host}/`);
    expect([target.host, target.literal, target.authority]).toEqual([
      '127.0.0.1',
      Uint8Array.of(127, 0, 0, 1),
      '127.0.0.1',
    ]);
  });

  it.each([
    '169.254.169.254',
    '2852039166',
    '0xA9FEA9FE',
    '0xa9.0xfe.0xa9.0xfe',
    '0251.0376.0251.0376',
    '169.16689662',
    '0xa9.254.43518',
    '025177524776',
  ])('is 169.254.169.254 where it is spelled %s', (host) => {
    expect(targetOf(`http://${host}/`).literal).toEqual(Uint8Array.of(169, 254, 169, 254));
  });

  it.each([
    ['[::1]', '::1'],
    ['[0:0:0:0:0:0:0:1]', '::1'],
    ['[::ffff:7f00:1]', '::ffff:7f00:1'],
    ['[::ffff:127.0.0.1]', '::ffff:7f00:1'],
    ['[::FFFF:127.0.0.1]', '::ffff:7f00:1'],
    ['[0:0:0:0:0:ffff:a9fe:a9fe]', '::ffff:a9fe:a9fe'],
    ['[64:ff9b::7f00:1]', '64:ff9b::7f00:1'],
    ['[2002:7f00:1::]', '2002:7f00:1::'],
    ['[0000:0000::]', '::'],
  ])('%s is %s, with 16 bytes', (host, text) => {
    const target = targetOf(`http://${host}:8080/`);
    expect([target.host, target.literal?.length, target.authority]).toEqual([text, 16, `[${text}]:8080`]);
  });

  it.each(['１２７.0.0.1', '127.０.0.1', '127。0。0。1', '①②⑦.0.0.1', '１', '127．0.0.1', '١٢٧.0.0.1'])(
    'is refused where %s only folds into one',
    (host) => {
      expect(reasonOf(`http://${host}/`)).not.toContain('127');
      expect(reasonOf(`http://${host}/`)).not.toMatch(/read as [\d.]+$/);
    },
  );
});

describe('a host in other scripts', () => {
  it.each([
    ['straße.example', 'xn--strae-oqa.example'],
    ['STRASSE.example', 'strasse.example'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.example', 'xn--bcher-kva.example'],
    ['bu\u0308cher.example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['日本.example', 'xn--wgv71a.example'],
    // Homographs of apple: Cyrillic а, all of it Cyrillic, Greek ο
    ['\u0430pple.example', 'xn--pple-43d.example'],
    ['\u0430\u0440\u0440\u04cf\u0435.example', 'xn--80ak6aa92e.example'],
    ['g\u03bf\u03bfgle.example', 'xn--ggle-0nda.example'],
    // What looks like a slash
    ['a\u2044b.example', 'xn--ab-c6t.example'],
  ])('%s is %s and nothing else', (written, host) => {
    expect(targetOf(`https://${written}/`).host).toBe(host);
  });

  it.each([
    ...[
      'ｅxample.com',
      'example。com',
      'example．com',
      'example｡com',
      'exa\u00admple.com',
      'ﬁle.example',
      '\u212Aelvin.example',
    ],
    ...[
      'ex\u2100.example',
      'a\uFF0Fb.example',
      'a\uFF03b.example',
      'a\uFF20b.example',
      'example.com\u3002',
      '\u2488example.com',
    ],
    ...['xn--\u00fc.example'],
  ])('%s is refused', (written) => {
    expect(reasonOf(`https://${written}/`)).toBe('URL_REFUSED');
  });
});
