import { expect, it } from 'vitest';
import { urlOf } from './url.ts';

it('encodes parameters and query whole, and leaves out what is undefined', () => {
  expect(urlOf('/v1/a/:x/b/:y', { x: 'a/../b', y: 'c?d#e\0' }, { q: 'a&b=c', n: 3, no: undefined })).toBe(
    '/v1/a/a%2F..%2Fb/b/c%3Fd%23e%00?q=a%26b%3Dc&n=3',
  );
  expect(new URL(`http://x${urlOf('/v1/a/:x', { x: 'a/../b' }, {})}`).pathname).toBe('/v1/a/a%2F..%2Fb');
});

it.each(['', '.', '..'])('refuses a parameter that a URL would swallow: "%s"', (x) => {
  expect(() => urlOf('/v1/a/:x', { x }, {})).toThrow(expect.objectContaining({ code: 'REQUEST_INVALID' }));
});
