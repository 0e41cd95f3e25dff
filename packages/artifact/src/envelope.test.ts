import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { hasRepeatedKey, signedBytes } from './envelope.ts';

describe('the bytes that are signed', () => {
  it('are those of the example in the DSSE specification', () => {
    expect(signedBytes('http://example.com/HelloWorld', Buffer.from('hello world')).toString()).toBe(
      'DSSEv1 29 http://example.com/HelloWorld 11 hello world',
    );
  });

  it('count bytes, not characters', () => {
    expect(signedBytes('é', Buffer.from('€')).toString()).toBe('DSSEv1 2 é 3 €');
  });
});

describe('a repeated key', () => {
  it.each([
    ['at the top', '{"a":1,"a":1}'],
    ['deep inside', '[{"x":{"a":[],"b":0,"a":{}}}]'],
    ['in another spelling', '{"a":1,"\\u0061":2}'],
    ['after a text that looks like structure', '{"a":"}{\\",","a":2}'],
    ['that is empty', '{"":1,"":2}'],
    ['that is a name of the prototype', '{"__proto__":1,"__proto__":2}'],
  ])('is found %s', (_where, text) => {
    expect(hasRepeatedKey(text)).toBe(true);
  });

  it.each([
    '{"a":{"a":1},"b":{"a":1}}',
    '["a","a"]',
    '{"a":"a","b":"a"}',
    '"a"',
    '7',
    '{"a":["a",{"a":1}],"\\"":1,"\\\\":2}',
  ])('is not seen in %s', (text) => {
    expect(hasRepeatedKey(text)).toBe(false);
  });

  it('is never seen in what JSON.stringify writes', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4, stringUnit: 'binary' }), (value) => {
        expect(hasRepeatedKey(JSON.stringify(value, null, 1))).toBe(false);
      }),
      { seed: 3, numRuns: 200 },
    );
  });
});
