import { describe, expect, it } from 'vitest';
import { readCassette } from './cassette-format.ts';

const request = '{"method":"GET","url":"https://a.test/x"}';
const cassette = (entries: string): unknown => JSON.parse(`{"schema":"glovebox.cassette/1","entries":${entries}}`);
const entry = (part: string, response = '{"status":200}'): unknown =>
  cassette(`[{"request":${part},"response":${response}}]`);

describe('a cassette', () => {
  it.each([
    ['[]'],
    [`[{"request":${request},"response":{"status":204}}]`],
    [`[{"request":${request},"response":{"status":200,"headers":{"etag":"\\"x\\""},"body":{"text":"é\\u0000"}}}]`],
    [`[{"request":${request},"response":{"status":200,"body":{"base64":"/w=="}}}]`],
    ['[{"request":{"method":"POST","url":"https://a.test/","body":{"text":"x"}},"response":{"status":500}}]'],
    [
      `[{"request":{"method":"PUT","url":"http://a.test:81/?b=1&a=2","headers":{"accept":"*/*"},"body":{"digest":"sha256:${'a'.repeat(64)}","bytes":9}},"response":{"status":200}}]`,
    ],
  ])('is %s, and stays as it is', (text) => {
    const value = cassette(text);
    expect(readCassette(value)).toEqual({ ok: true, cassette: value });
  });

  it.each<[string, unknown, string]>([
    ['no object', [], ''],
    ['null', null, ''],
    ['without a schema', JSON.parse('{"entries":[]}'), '/schema'],
    ['of another schema', JSON.parse('{"schema":"glovebox.cassette/2","entries":[]}'), '/schema'],
    ['without entries', JSON.parse('{"schema":"glovebox.cassette/1"}'), '/entries'],
    ['with entries by name', JSON.parse('{"schema":"glovebox.cassette/1","entries":{"length":0}}'), '/entries'],
    ['with a member of no meaning', JSON.parse('{"schema":"glovebox.cassette/1","entries":[],"log":1}'), '/log'],
    ['with a __proto__', JSON.parse('{"schema":"glovebox.cassette/1","entries":[],"__proto__":{}}'), '/__proto__'],
    [
      'with a prototype for entries',
      JSON.parse('{"schema":"glovebox.cassette/1","__proto__":{"entries":[]}}'),
      '/__proto__',
    ],
    ['with an entry without an answer', cassette(`[{"request":${request}}]`), '/entries/0/response'],
    [
      'with a third part',
      cassette(`[{"request":${request},"response":{"status":200},"timings":{}}]`),
      '/entries/0/timings',
    ],
    [
      'with a prototype in a request',
      entry('{"method":"GET","url":"https://a.test/","__proto__":{"body":1}}'),
      '/entries/0/request/__proto__',
    ],
    ['with a method in small letters', entry('{"method":"get","url":"https://a.test/"}'), '/entries/0/request/method'],
    ['with another scheme', entry('{"method":"GET","url":"file:///etc/passwd"}'), '/entries/0/request/url'],
    ['with a user in a URL', entry('{"method":"GET","url":"https://u:p@a.test/"}'), '/entries/0/request/url'],
    [
      'with a URL that is written otherwise',
      entry('{"method":"GET","url":"https://A.test:443/b/../x"}'),
      '/entries/0/request/url',
    ],
    ['with a fragment', entry('{"method":"GET","url":"https://a.test/#x"}'), '/entries/0/request/url'],
    ['with a secret in a query', entry('{"method":"GET","url":"https://a.test/?api_key=5"}'), '/entries/0/request/url'],
    [
      'with a URL that is too long',
      entry(`{"method":"GET","url":"https://a.test/${'x'.repeat(9000)}"}`),
      '/entries/0/request/url',
    ],
    [
      'with a header in capitals',
      entry('{"method":"GET","url":"https://a.test/","headers":{"Accept":"x"}}'),
      '/entries/0/request/headers',
    ],
    [
      'with a header called __proto__',
      entry('{"method":"GET","url":"https://a.test/","headers":{"__proto__":"x"}}'),
      '/entries/0/request/headers',
    ],
    [
      'with a split header',
      entry(request, '{"status":200,"headers":{"x":"a\\r\\nb: c"}}'),
      '/entries/0/response/headers/x',
    ],
    [
      'with a header that is a list',
      entry(request, '{"status":200,"headers":{"x":["a"]}}'),
      '/entries/0/response/headers/x',
    ],
    [
      'that speaks in our name',
      entry(request, '{"status":403,"headers":{"glovebox-egress":"denied"}}'),
      '/entries/0/response/headers/glovebox-egress',
    ],
    [
      'with an encoded body',
      entry(request, '{"status":200,"headers":{"content-encoding":"gzip"}}'),
      '/entries/0/response/headers/content-encoding',
    ],
    ['with a status of 1xx', entry(request, '{"status":101}'), '/entries/0/response/status'],
    ['with a status as text', entry(request, '{"status":"200"}'), '/entries/0/response/status'],
    ['with two bodies', entry(request, '{"status":200,"body":{"text":"","base64":""}}'), '/entries/0/response/body'],
    ['with no body in a body', entry(request, '{"status":200,"body":{}}'), '/entries/0/response/body'],
    [
      'with half a character',
      entry(request, '{"status":200,"body":{"text":"\\ud800"}}'),
      '/entries/0/response/body/text',
    ],
    ['with sloppy base64', entry(request, '{"status":200,"body":{"base64":"/w="}}'), '/entries/0/response/body/base64'],
    [
      'with a digest for an answer',
      entry(request, `{"status":200,"body":{"digest":"sha256:${'a'.repeat(64)}","bytes":1}}`),
      '/entries/0/response/body/digest',
    ],
    [
      'with half a digest',
      entry('{"method":"PUT","url":"https://a.test/","body":{"digest":"sha256:aa","bytes":1}}'),
      '/entries/0/request/body/digest',
    ],
  ])('is none %s, which is told where it is', (_, value, path) => {
    expect(readCassette(value)).toMatchObject({ ok: false, path });
    expect(({} as { entries?: unknown }).entries).toBeUndefined();
  });

  it('is none with more entries than there may be, before any of them is looked at', () => {
    const many = (count: number) =>
      cassette(`[${Array(count).fill(`{"request":${request},"response":{"status":200}}`).join(',')}]`);
    expect(readCassette(many(1000)).ok).toBe(true);
    expect(readCassette(many(1001))).toMatchObject({ ok: false, path: '/entries' });
    const hostile = cassette(`[${Array(100_000).fill('{}').join(',')}]`);
    const began = performance.now();
    expect(readCassette(hostile)).toMatchObject({ ok: false, path: '/entries' });
    expect(performance.now() - began).toBeLessThan(500);
  });
});
