import { createHash } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BodyDigester, bodyOf, canonicalUrl, keptBody, keptLocation } from './cassette-match.ts';
import { CassettePlayer } from './cassette-player.ts';
import type { Cassette, CassetteEntry } from './testing-api.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

const entry = (method: string, url: string, answer: string, body?: string): CassetteEntry => ({
  request: { method, url, ...(body === undefined ? {} : { body: { text: body } }) },
  response: { status: 200, body: { text: answer } },
});
const of = (...entries: CassetteEntry[]): Cassette => ({ schema: 'glovebox.cassette/1', entries });
const digestOf = (text: string, contentType?: string): string | undefined => {
  const digester = new BodyDigester(contentType);
  // In uneven parts: what is compared does not depend on how a body came.
  for (let i = 0; i < text.length; i += 7) digester.update(Buffer.from(text.slice(i, i + 7)));
  return digester.end()?.digest;
};
const ask = (player: CassettePlayer, method: string, url: string, body?: string): string => {
  const taken = player.take({ method, url, body: body === undefined ? undefined : digestOf(body) });
  const answer = taken.kind === 'entry' ? taken.entry.response.body : undefined;
  return answer === undefined ? 'miss' : 'text' in answer ? answer.text : answer.base64;
};

describe('a URL in a cassette', () => {
  it.each([
    ['https://A.Test:443/a/../b?x=1&a=2#part', 'https://a.test/b?x=1&a=2'],
    ['https://a.test', 'https://a.test/'],
    ['https://a.test/?', 'https://a.test/'],
    ['http://0x7f.1/', 'http://127.0.0.1/'],
    ['https://a.test/?b=1&api_key=SECRET&c=2', 'https://a.test/?b=1&api_key=not-recorded&c=2'],
    ['https://a.test/?API%5fKEY=SECRET', 'https://a.test/?API%5fKEY=not-recorded'],
    ['https://a.test/?X-Amz-Signature=SECRET', 'https://a.test/?X-Amz-Signature=not-recorded'],
    ['https://a.test/?pageToken=5&tokens=6&token', 'https://a.test/?pageToken=5&tokens=6&token'],
    ['https://a.test/?%E0%A4%A=1', 'https://a.test/?%E0%A4%A=1'],
  ])('%s is %s', (text, url) => {
    expect(canonicalUrl(text)).toBe(url);
    expect(canonicalUrl(url)).toBe(url);
  });

  it.each([['ftp://a.test/'], ['https://u@a.test/'], ['https://:p@a.test/'], ['a.test'], ['']])(
    '%s is none',
    (text) => {
      expect(canonicalUrl(text)).toBeUndefined();
    },
  );
});

describe('the location of an answer in a cassette', () => {
  it.each([
    ['/next?page=2', '/next?page=2'],
    ['https://b.test/x?X-Amz-Signature=SECRET&a=1#c', 'https://b.test/x?X-Amz-Signature=not-recorded&a=1#c'],
    ['?token=SECRET', '?token=not-recorded'],
    ['/plain#?token=x', '/plain#?token=x'],
    ['https://a.test/back#access_token=SECRET&state=1', 'https://a.test/back#access_token=not-recorded&state=1'],
    ['/a?token=SECRET#id_token=SECRET', '/a?token=not-recorded#id_token=not-recorded'],
    ['https://u:SECRET@a.test/b@c?d=@', 'https://not-recorded@a.test/b@c?d=@'],
    ['//SECRET@a.test', '//not-recorded@a.test'],
    ['/a//u@b', '/a//u@b'],
    ['', ''],
  ])('%s is kept as %s', (location, kept) => {
    expect(keptLocation(location)).toBe(kept);
  });
});

describe('a body in a cassette', () => {
  it('comes back byte for byte, as text where it is UTF-8', () => {
    let [texts, others] = [0, 0];
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array({ minLength: 1 }),
          fc.string({ minLength: 1, unit: 'binary' }).map((s) => Buffer.from(s)),
        ),
        (bytes) => {
          const kept = keptBody(bytes);
          if (kept !== undefined && 'text' in kept) texts++;
          else others++;
          expect(Buffer.compare(bodyOf(kept), bytes)).toBe(0);
        },
      ),
      { seed: 5, numRuns: 400 },
    );
    expect(Math.min(texts, others)).toBeGreaterThan(50);
    expect(keptBody(Buffer.from('\ufeffx'))).toEqual({ text: '\ufeffx' });
  });

  it('that is multipart is the same with another boundary, and no other', () => {
    const form = (boundary: string, value: string) =>
      digestOf(
        `--${boundary}\r\ncontent-disposition: form-data; name="a"\r\n\r\n${value}\r\n--${boundary}--\r\n`,
        `multipart/form-data; boundary=${boundary}`,
      );
    expect(form('----one', 'x')).toBe(form('other', 'x'));
    expect(form('----one', 'x')).not.toBe(form('----one', 'y'));
    expect(digestOf('--a\r\n', 'text/plain; boundary=a')).not.toBe(digestOf('--b\r\n', 'text/plain; boundary=b'));
  });

  it('that is multipart has the same digest in whatever pieces it comes', () => {
    let boundaries = 0;
    fc.assert(
      fc.property(
        fc.constantFrom('-', '--', 'a', 'ab', 'aab', 'boundary'),
        fc.array(fc.constantFrom('-', '--', 'a', 'b', '--ab', '--aab', '---', '\r\n', 'é', '--boundary'), {
          maxLength: 40,
        }),
        fc.array(fc.integer({ min: 1, max: 7 }), { minLength: 1, maxLength: 20 }),
        (boundary, words, sizes) => {
          const type = `multipart/mixed; boundary="${boundary}"`;
          const body = Buffer.from(words.join(''));
          const digester = new BodyDigester(type);
          for (let at = 0, i = 0; at < body.length; i++) {
            const size = sizes[i % sizes.length] as number;
            digester.update(body.subarray(at, at + size));
            at += size;
          }
          const plain = body.toString('latin1').replaceAll(`--${boundary}`, '--boundary');
          if (plain !== body.toString('latin1')) boundaries++;
          const whole = createHash('sha256').update(plain, 'latin1').digest('hex');
          expect(digester.end()?.digest).toBe(body.length === 0 ? undefined : `sha256:${whole}`);
        },
      ),
      { seed: 7, numRuns: 1000 },
    );
    expect(boundaries).toBeGreaterThan(200);
  });

  it('that is multipart is not held, however small its pieces are', () => {
    const heldBytes = () => {
      gc();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const before = heldBytes();
    const digester = new BodyDigester('multipart/form-data; boundary=a');
    const one = Buffer.from('x');
    for (let i = 0; i < 250_000; i++) digester.update(one);
    expect(heldBytes() - before).toBeLessThan(4_000_000);
    expect(digester.end()?.bytes).toBe(250_000);
  });

  it('that is empty is none', () => {
    expect([digestOf(''), digestOf('', 'multipart/mixed; boundary=a')]).toEqual([undefined, undefined]);
  });
});

describe('a cassette that is played', () => {
  it('answers what is the same request, and only that', () => {
    const player = new CassettePlayer(of(entry('POST', 'https://a.test/x?b=1&a=2', 'yes', '{"n":1}')));
    for (const [method, url, body] of [
      ['PUT', 'https://a.test/x?b=1&a=2', '{"n":1}'],
      ['POST', 'http://a.test/x?b=1&a=2', '{"n":1}'],
      ['POST', 'https://a.test:8443/x?b=1&a=2', '{"n":1}'],
      ['POST', 'https://b.test/x?b=1&a=2', '{"n":1}'],
      ['POST', 'https://a.test/X?b=1&a=2', '{"n":1}'],
      ['POST', 'https://a.test/x?a=2&b=1', '{"n":1}'],
      ['POST', 'https://a.test/x?b=1&a=2', '{"n": 1}'],
      ['POST', 'https://a.test/x?b=1&a=2', undefined],
    ] as const)
      expect(ask(player, method, url, body)).toBe('miss');
    expect(ask(player, 'POST', 'https://a.test/x?b=1&a=2', '{"n":1}')).toBe('yes');
  });

  it('uses entries of the same request in order, and the last of them again', () => {
    const player = new CassettePlayer(
      of(
        entry('GET', 'https://a.test/', '1'),
        entry('GET', 'https://a.test/b', 'b'),
        entry('GET', 'https://a.test/', '2'),
      ),
    );
    const answers = Array.from({ length: 4 }, () => ask(player, 'GET', 'https://a.test/'));
    expect(answers).toEqual(['1', '2', '2', '2']);
    expect(player.unused()).toEqual([1]);
  });

  it('gives each entry once before any twice, whatever is interleaved', () => {
    const urls = ['https://a.test/0', 'https://a.test/1', 'https://a.test/2'];
    let repeats = 0;
    fc.assert(
      fc.property(
        fc.array(fc.nat(2), { minLength: 1, maxLength: 12 }),
        fc.array(fc.nat(2), { maxLength: 24 }),
        (recorded, asked) => {
          const player = new CassettePlayer(of(...recorded.map((n, i) => entry('GET', urls[n] as string, String(i)))));
          const seen = [0, 0, 0];
          for (const n of asked) {
            const own = recorded.flatMap((m, i) => (m === n ? [i] : []));
            const nth = seen[n] as number;
            seen[n] = nth + 1;
            if (nth >= own.length && own.length > 0) repeats++;
            expect(ask(player, 'GET', urls[n] as string)).toBe(
              own.length === 0 ? 'miss' : String(own[Math.min(nth, own.length - 1)]),
            );
          }
          const used = seen.map((count, n) => Math.min(count, recorded.filter((m) => m === n).length));
          expect(player.unused()).toHaveLength(recorded.length - used.reduce((a, b) => a + b));
        },
      ),
      { seed: 7, numRuns: 300 },
    );
    expect(repeats).toBeGreaterThan(100);
  });

  it.each<[string, [string, string, string?], number, string[]]>([
    ['another query', ['GET', 'https://a.test/v1/items?page=2'], 0, ['query']],
    ['another method', ['DELETE', 'https://a.test/v1/items?page=1'], 0, ['method']],
    ['another path', ['GET', 'https://a.test/v1/item?page=1'], 0, ['path']],
    ['another body', ['POST', 'https://a.test/v1/items', 'y'], 1, ['body']],
    ['another host', ['GET', 'https://c.test/v1/items?page=1'], 0, ['origin']],
    ['another host that is there', ['GET', 'https://b.test/nothing/like/it'], 2, ['path']],
  ])('names the nearest entry and what differs: %s', (_, [method, url, body], nearest, differs) => {
    const player = new CassettePlayer(
      of(
        entry('GET', 'https://a.test/v1/items?page=1', '1'),
        entry('POST', 'https://a.test/v1/items', '2', 'x'),
        entry('GET', 'https://b.test/', '3'),
      ),
    );
    const taken = player.take({ method, url, body: body === undefined ? undefined : digestOf(body) });
    expect(taken).toMatchObject({ kind: 'miss', miss: { method, url, nearest: { entry: nearest, differs } } });
    expect(player.misses).toHaveLength(1);
  });

  it('searches for the nearest of the first twenty misses alone, and keeps a hundred', () => {
    const player = new CassettePlayer(of(entry('GET', 'https://a.test/', '1')));
    const misses = Array.from({ length: 200 }, (_, i) =>
      player.take({ method: 'GET', url: `https://a.test/${i}`, body: undefined }),
    );
    expect(misses.filter((taken) => taken.kind === 'miss' && taken.miss.nearest !== null)).toHaveLength(20);
    expect(player.misses).toHaveLength(100);
  });
});
