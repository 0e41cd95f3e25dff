import { httpRuleSchema } from '@glovebox/contract';
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { compilePolicy } from '../../src/index.ts';
import { decideOn, outcomeOf, policyFor, policyOf, rule } from './kit.ts';

describe('a patch', () => {
  it.each<[string, string, Record<string, unknown>]>([
    [
      'GET',
      'https://new.example.com/a/b?secret=1',
      { scheme: 'https', host: 'new.example.com', port: 443, methods: ['GET'], paths: ['/a/b'] },
    ],
    ['POST', 'https://api.example.com/', { host: 'api.example.com', methods: ['POST'], paths: ['/'] }],
    ['GET', 'http://api.example.com:8080/x', { scheme: 'http', port: 8080, paths: ['/x'] }],
    ['GET', 'https://a_b.example.com/*', { host: '*.example.com', paths: ['/%2A'] }],
    ['GET', 'https://a.b_c.d.example.com/', { host: '*.d.example.com' }],
  ])('for %s %s is the narrowest rule', (method, url, expected) => {
    expect(decideOn(policyFor(rule({ methods: ['GET'], paths: ['/only'] })), method, url)).toMatchObject({
      kind: 'denied',
      rule: null,
      patch: { rules: [expected] },
      approver: 'approver',
    });
  });

  it.each([
    ['PROPFIND', 'https://api.example.com/'],
    ['CONNECT', 'https://api.example.com/'],
    ['GET', 'https://localhost/'],
    ['GET', 'https://[2606:4700::1]/'],
  ])('is none for %s %s, which no manifest can have', (method, url) => {
    expect(decideOn(policyFor(rule({ paths: ['/only'] })), method, url)).toMatchObject({
      kind: 'denied',
      patch: null,
      approver: 'nobody',
    });
  });

  it('asks the schema twice at most, however many labels a host has', () => {
    const parse = vi.spyOn(httpRuleSchema, 'safeParse');
    const url = `https://${'a.'.repeat(120)}b_/`;
    expect(decideOn(policyFor(rule()), 'GET', url)).toMatchObject({ reason: 'HOST_NOT_DECLARED', patch: null });
    expect(parse.mock.calls.length).toBeGreaterThan(0);
    expect(parse.mock.calls.length).toBeLessThan(3);
    parse.mockRestore();
  });

  it('is none where the policy denies the request all the same', () => {
    const denied = policyOf({ denials: [{ id: 'x', host: 'new.example.com', reason: 'agreed' }] });
    const bounded = policyOf({ maximum: { rules: [{ ...rule(), id: 'most' }] } });
    for (const policy of [denied, bounded]) {
      expect(decideOn(compilePolicy(undefined, policy), 'GET', 'https://new.example.com/')).toMatchObject({
        reason: 'HTTP_NOT_DECLARED',
        patch: null,
        approver: 'admin',
      });
    }
    expect(decideOn(compilePolicy(undefined, policyOf()), 'GET', 'https://new.example.com/')).toMatchObject({
      reason: 'HTTP_NOT_DECLARED',
      patch: { rules: [{ host: 'new.example.com' }] },
    });
  });

  it('allows the request that it is for, and no other by its path, method, port, scheme or host', () => {
    const segment = fc.constantFrom(
      'a',
      'b%20c',
      '%2A',
      '*',
      '**',
      '',
      'x%2Fy',
      "s;p='q'",
      '%C3%BC',
      'c%23d',
      'e%253Ff',
      'x'.repeat(600),
      'y'.repeat(500),
    );
    const seen = { whole: 0, cut: 0 };
    fc.assert(
      fc.property(
        fc.constantFrom('http', 'https'),
        fc.constantFrom('new.example.com', 'x_y.example.com', 'bücher.example'),
        fc.constantFrom('', ':8080'),
        fc.constantFrom('GET', 'POST', 'DELETE'),
        fc.array(segment, { maxLength: 7 }),
        (scheme, host, port, method, segments) => {
          const url = `${scheme}://${host}${port}/${segments.join('/')}`;
          const decision = decideOn(policyFor(rule()), method, url);
          if (decision.kind !== 'denied') throw new Error('allowed');
          const { rules } = decision.patch as { rules: [Parameters<typeof rule>[0]] };
          const patched = policyFor(rule(), rule(rules[0]));
          const isCut = rules[0]?.paths?.[0]?.endsWith('**');
          seen[isCut ? 'cut' : 'whole']++;
          expect(outcomeOf(patched, method, url)).toBe('allowed');
          for (const [otherMethod, other] of [
            ['PUT', url],
            [method, url.replace('://', '://other.')],
            [method, `${scheme}://${host}:1/${segments.join('/')}`],
            ...(isCut ? [] : [[method, `${url}x`] as const, [method, `${url}/`] as const]),
          ] as const) {
            if (other.includes('other.x_y')) continue;
            expect(outcomeOf(patched, otherMethod, other)).not.toBe('allowed');
          }
        },
      ),
      { seed: 58, numRuns: 600 },
    );
    expect(seen.whole).toBeGreaterThan(200);
    expect(seen.cut).toBeGreaterThan(5);
  });
});
