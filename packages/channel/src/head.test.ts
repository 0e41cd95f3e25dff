import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanReason, decodeRequestHead, decodeResponseHead, encodeRequestHead, encodeResponseHead } from './head.ts';

const decodeRequest = (text: string) => decodeRequestHead(Buffer.from(text, 'latin1'), 0, text.length);
const decodeAnswer = (text: string) => decodeResponseHead(Buffer.from(text, 'latin1'), 0, text.length);
const plain = (value: object): unknown => JSON.parse(JSON.stringify(value));

describe('a head', () => {
  it('is a flat JSON array in printable ASCII', () => {
    expect(
      encodeRequestHead({
        method: 'PUT',
        url: 'https://a.example/"\\',
        headers: { 'x-a': 'é\t"', 'content-length': '0' },
      }),
    ).toBe('["PUT","https://a.example/\\"\\\\","x-a","\\u00e9\\u0009\\"","content-length","0"]');
    expect(encodeResponseHead({ status: 204, headers: {} })).toBe('[204]');
  });

  it('comes back as it was, whatever it holds, and JSON.parse agrees', () => {
    const name = fc.stringMatching(/^[a-z0-9!#$%&'*+.^_`|~-]{1,20}$/).filter((text) => text !== '__proto__');
    const value = fc.string({
      unit: fc
        .integer({ min: 0x20, max: 0xff })
        .filter((code) => code !== 0x7f)
        .map((code) => String.fromCharCode(code)),
    });
    const headers = fc
      .uniqueArray(fc.tuple(name, value), { selector: ([key]) => key, maxLength: 10 })
      .map(Object.fromEntries);
    const url = fc.webUrl({ withQueryParameters: true });
    let some = 0;
    fc.assert(
      fc.property(url, headers, (address, fields) => {
        const text = encodeRequestHead({ method: 'GET', url: address, headers: fields });
        expect(/^[\x20-\x7e]*$/.test(text)).toBe(true);
        expect(JSON.parse(text).slice(2)).toEqual(Object.entries(fields).flat());
        expect(plain(decodeRequest(text))).toEqual({ method: 'GET', url: address, headers: fields });
        expect(plain(decodeAnswer(encodeResponseHead({ status: 200, headers: fields })))).toEqual({
          status: 200,
          headers: fields,
        });
        if (Object.keys(fields).length > 0) some++;
      }),
      { seed: 7, numRuns: 200 },
    );
    expect(some).toBeGreaterThan(100);
  });

  it('is refused before it is sent where the other side would refuse it', () => {
    const invalid = expect.objectContaining({ code: 'CHANNEL_HEAD_INVALID' });
    const good = { method: 'GET', url: 'http://a/', headers: {} };
    expect(encodeRequestHead(good)).toBe('["GET","http://a/"]');
    const bad = [
      { ...good, method: 'get' },
      { ...good, method: '' },
      { ...good, method: 'X'.repeat(33) },
      { ...good, url: '/job' },
      { ...good, url: 'http://' },
      { ...good, url: 'http://ä/' },
      { ...good, url: `http://a/${'x'.repeat(16 * 1024)}` },
      { ...good, url: new URL('http://a/') as unknown as string },
      { ...good, headers: { 'X-A': '1' } },
      { ...good, headers: { '': '1' } },
      { ...good, headers: { 'a b': '1' } },
      { ...good, headers: JSON.parse('{"__proto__":"1"}') },
      { ...good, headers: { a: '1\n' } },
      { ...good, headers: { a: '\u0100' } },
      { ...good, headers: { a: 1 as unknown as string } },
    ];
    for (const head of bad) expect(() => encodeRequestHead(head), JSON.stringify(head).slice(0, 80)).toThrow(invalid);
    for (const status of [199, 600, 200.5, Number.NaN, '200' as unknown as number]) {
      expect(() => encodeResponseHead({ status, headers: {} })).toThrow(invalid);
    }
  });

  it('never throws for any text, and never yields what could not have been encoded', () => {
    let heads = 0;
    const text = fc.oneof(
      fc.string(),
      fc.json(),
      fc
        .array(fc.oneof(fc.string(), fc.constantFrom('GET', 'http://a/', 'x-a', 200)), { maxLength: 6 })
        .map((items) => JSON.stringify(items)),
    );
    fc.assert(
      fc.property(text, (anything) => {
        for (const head of [decodeRequest(anything), decodeAnswer(anything)]) {
          if ('kind' in head) {
            expect(head.kind).toBe('corrupted');
          } else {
            heads++;
            if ('method' in head) encodeRequestHead(head);
            else encodeResponseHead(head);
          }
        }
      }),
      { seed: 8, numRuns: 3000 },
    );
    expect(heads).toBeGreaterThan(5);
  });
});

it('a reason is cut and cleaned, never refused', () => {
  expect(cleanReason('a\u0000b\né', 4)).toBe('a?b?');
});
