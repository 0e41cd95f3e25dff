import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Target } from './api.ts';
import { parseTarget } from './target.ts';

const seed = 55;

function targetOf(url: string): Target {
  const read = parseTarget(url);
  if (read.kind === 'denied') throw new Error(`${url}: ${read.reason}`);
  return read.target;
}

function reasonOf(url: string): string {
  const read = parseTarget(url);
  return read.kind === 'denied' ? read.reason : `read as ${read.target.host}`;
}

describe('a target', () => {
  it.each<[string, Partial<Target>]>([
    [
      'https://api.example.com',
      { scheme: 'https', host: 'api.example.com', port: 443, path: '/', query: '', authority: 'api.example.com' },
    ],
    [
      'HTTPS://API.Example.COM:443/A?b=C',
      { host: 'api.example.com', port: 443, path: '/A', query: '?b=C', authority: 'api.example.com' },
    ],
    ['http://api.example.com:8080/x', { scheme: 'http', port: 8080, authority: 'api.example.com:8080' }],
    ['http://api.example.com:443/', { scheme: 'http', port: 443, authority: 'api.example.com:443' }],
    ['https://api.example.com:65535/', { port: 65_535 }],
    ['https://a_b.example.com/', { host: 'a_b.example.com' }],
    ['https://localhost/', { host: 'localhost' }],
    ['https://a/?', { query: '' }],
    ['https://a/?x=../..&y=%2e%2e/', { path: '/', query: '?x=../..&y=%2e%2e/' }],
    ['https://a?x', { path: '/', query: '?x' }],
    ['https://a/ü{}"', { path: '/%C3%BC%7B%7D%22' }],
    ["https://a/a;b=c/d,e@f:g!$&'()*+", { path: "/a;b=c/d,e@f:g!$&'()*+" }],
    ['https://a/..a/.b/c./d..e/...', { path: '/..a/.b/c./d..e/...' }],
    ['https://a//b///c', { path: '//b///c' }],
    ['https://a/b%2Fc%5Cd%3B', { path: '/b%2Fc%5Cd%3B' }],
    ['https://a/100%25/%E2%82%AC', { path: '/100%25/%E2%82%AC' }],
    ['https://a/https%253A%252F%252Fb', { path: '/https%253A%252F%252Fb' }],
  ])('is read from %s', (url, expected) => {
    expect(targetOf(url)).toMatchObject({ literal: undefined, ...expected });
  });

  it.each([
    ...[
      '',
      'x',
      '/',
      '//example.com/',
      'example.com',
      'https:',
      'https:/',
      'https://',
      'https:///',
      'https:example.com',
    ],
    ...[
      'https:/example.com/',
      'https:///example.com/',
      'https:////example.com/',
      'ftp://example.com/',
      'ws://example.com/',
    ],
    ...[
      'file:///etc/passwd',
      'data:,x',
      'javascript:0',
      'blob:https://example.com/x',
      'httpſ://example.com/',
      'http+unix://x/',
    ],
    ...[
      'https://u@example.com/',
      'https://u:p@example.com/',
      'https://@example.com/',
      'https://:@example.com/',
      'https://a@b@c/',
    ],
    ...['https://example.com#x', 'https://example.com/#', 'http://evil#@example.com/', 'https://example.com/a#b?c'],
    ...[
      'https:\\\\example.com/',
      'https://example.com\\x',
      'https://example.com\\@evil/',
      'https://example.com/a\\b',
      'https://a/?\\',
    ],
    ...[
      ' https://example.com/',
      'https://example.com/ ',
      'https://exam ple.com/',
      'https://a/b c',
      'https://a/?b c',
      '\thttps://a/',
    ],
    ...[
      'https://a/\r\nHost: b',
      'https://a\n.b/',
      'https://a/\0',
      'https://a/\x7f',
      'https://a/\x85',
      'https://a/\u00a0',
      'ht\ttps://a/',
    ],
    ...[
      'https://a/\u2028',
      'https://a/\u200b',
      'https://a/\u202e',
      'https://a\u00ad.b/',
      'https://a\u200d.b/',
      'https://a/\ud800',
      '\ufeffhttps://a/',
    ],
    ...[
      'https://example.com./',
      'https://localhost./',
      'https://./',
      'https://../',
      'https://.example.com/',
      'https://a..b/',
      'http://127.0.0.1./',
    ],
    ...[
      'https://example.com:/',
      'https://example.com:0/',
      'https://example.com:00443/',
      'https://example.com:65536/',
      'https://a:99999/',
    ],
    ...[
      'https://example.com:443:443/',
      'https://example.com:4 43/',
      'https://example.com:+443/',
      'https://example.com:4٤3/',
      'https://:443/',
      'https://a:x/',
    ],
    ...[
      'https://exam%70le.com/',
      'https://example%2Ecom/',
      'https://%65xample.com/',
      'https://a%00b/',
      'https://127%2e0.0.1/',
      'https://a%40b/',
    ],
    ...[
      'https://a b/',
      'https://a,b/',
      'https://a;b/',
      "https://a'b/",
      'https://a(b/',
      'https://a!b/',
      'https://a*b/',
      'https://*.a/',
      'https://a~b/',
      'https://a&b/',
      'https://a=b/',
      'https://a$b/',
      'https://a"b/',
      'https://a`b/',
      'https://{a}/',
      'https://a|b/',
      'https://a^b/',
      'https://a<b/',
    ],
    ...[
      'http://[::1/',
      'http://::1]/',
      'http://[::1]x/',
      'http://[::1]:0/',
      'http://[::1]:/',
      'http://[]/',
      'http://[1.2.3.4]/',
      'http://[::1%25eth0]/',
      'http://[fe80::1%eth0]/',
      'http://[v1.x]/',
      'http://x[::1]/',
      'http://::1/',
    ],
    ...[
      'http://256.1.1.1/',
      'http://1.2.3.4.5/',
      'http://1.2.3.08/',
      'http://0x100000000/',
      'http://4294967296/',
      'http://a.1/',
      'http://a.0x1/',
    ],
    `https://${'a'.repeat(64)}.example.com/`,
    `https://${'a.'.repeat(127)}aa/`,
    `https://a/${'x'.repeat(16 * 1024)}`,
  ])('is not read from %j', (url) => {
    expect(reasonOf(url)).toBe('URL_REFUSED');
  });

  it('has labels of up to 63 characters, hosts of up to 253 and URLs of up to 16 KiB', () => {
    expect(targetOf(`https://${'a'.repeat(63)}.example.com/`).host).toHaveLength(75);
    expect(targetOf(`https://${'a.'.repeat(126)}a/`).host).toHaveLength(253);
    expect(reasonOf(`https://${'a.'.repeat(126)}aa/`)).toBe('URL_REFUSED');
    expect(reasonOf(`https://${'a'.repeat(64)}.example.com/`)).toBe('URL_REFUSED');
    expect(targetOf(`https://a/${'x'.repeat(16 * 1024 - 10)}`).path).toHaveLength(16 * 1024 - 9);
  });
});

it('what is read is what the URL parser reads, and reads the same again', () => {
  const host = fc.constantFrom(
    'example.com',
    'EXAMPLE.com',
    '127.1',
    '0x7f.1',
    '[::1]',
    '[::ffff:1.2.3.4]',
    'bücher.example',
    'a_b.c',
    'a..b',
    'x.',
    '１.2',
    'a@b',
  );
  const port = fc.constantFrom('', ':1', ':80', ':443', ':0443', ':');
  const path = fc.webPath();
  const seen = { read: 0, refused: 0 };
  fc.assert(
    fc.property(fc.constantFrom('http', 'https', 'HTTP', 'ws'), host, port, path, (scheme, name, suffix, rest) => {
      const url = `${scheme}://${name}${suffix}${rest}`;
      const read = parseTarget(url);
      if (read.kind === 'denied') {
        seen.refused++;
        return;
      }
      seen.read++;
      const { target } = read;
      const parsed = new URL(url);
      const written = `${target.scheme}://${target.authority}${target.path}${target.query}`;
      expect(written).toBe(parsed.href);
      expect(target.authority).toBe(parsed.host);
      expect(parseTarget(written)).toEqual(read);
      expect(target.host).toBe(parsed.hostname.replace(/^\[|\]$/g, ''));
    }),
    { seed, numRuns: 1500 },
  );
  expect(Math.min(seen.read, seen.refused)).toBeGreaterThan(100);
});
