import { describe, expect, it } from 'vitest';
import { proxyFor } from './registry-proxy.ts';

const proxy = { HTTP_PROXY: 'http://a.test:1', HTTPS_PROXY: 'b.test:2' };
const through = (url: string, NO_PROXY = ''): string | undefined => proxyFor(new URL(url), { ...proxy, NO_PROXY });

describe('a proxy', () => {
  it('is that of the protocol, and may be written without one', () => {
    expect(through('http://registry.test/')).toBe('http://a.test:1');
    expect(through('https://registry.test/')).toBe('http://b.test:2');
    expect(proxyFor(new URL('https://registry.test/'), {})).toBeUndefined();
  });

  it.each([
    ['registry.test', true],
    ['REGISTRY.test', true],
    ['test', true],
    ['.test', true],
    ['*.test', true],
    ['*', true],
    ['other.test, registry.test:443', true],
    ['registry.test:444', false],
    ['egistry.test', false],
    ['.registry.test', false],
    ['other.test', false],
    ['', false],
  ])('is not used for what %j names: %s', (exceptions, isNamed) => {
    expect(through('https://registry.test/', exceptions) === undefined).toBe(isNamed);
  });
});
