import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { HttpRule } from '@glovebox/contract';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compilePolicy, parseTarget } from '../../src/index.ts';
import { decideOn, grant, outcomeOf, policyFor, policyOf, rule } from './kit.ts';

const seed = 57;

describe('hosts', () => {
  const exact = policyFor(rule());
  const wild = policyFor(rule({ host: '*.example.com' }));

  it.each(['api.example.com', 'API.EXAMPLE.COM'])('a name allows %s', (host) => {
    expect(outcomeOf(exact, 'GET', `https://${host}/`)).toBe('allowed');
  });

  it.each([
    ...[
      'example.com',
      'x.api.example.com',
      'evilapi.example.com',
      'api.example.com.evil.test',
      'api.example.co',
      'api-example.com',
    ],
    ...['pi.example.com', 'api.example.comm', 'api.examplexcom', 'xapi.example.com', 'api.example.com-evil.test'],
  ])('a name does not allow %s', (host) => {
    expect(outcomeOf(exact, 'GET', `https://${host}/`)).toBe('HOST_NOT_DECLARED');
  });

  it.each([
    'a.example.com',
    'a.b.example.com',
    'A.Example.Com',
    'xn--bcher-kva.example.com',
    'a_b.example.com',
    'example.com.example.com',
  ])('a wildcard allows %s', (host) => {
    expect(outcomeOf(wild, 'GET', `https://${host}/`)).toBe('allowed');
  });

  it.each([
    ...[
      'example.com',
      'evilexample.com',
      'a.evilexample.com',
      'example.com.evil.test',
      'a.example.com.evil.test',
      'a-example.com',
    ],
    ...['xexample.com', 'a.example.co', 'a.xexample.com', 'com', 'wwwexample.com'],
  ])('a wildcard does not allow %s', (host) => {
    expect(outcomeOf(wild, 'GET', `https://${host}/`)).toBe('HOST_NOT_DECLARED');
  });

  it('the apex is allowed where it is listed too', () => {
    const both = policyFor(rule({ host: '*.example.com' }), rule({ host: 'example.com' }));
    expect(outcomeOf(both, 'GET', 'https://example.com/')).toBe('allowed');
  });

  it('a wildcard means no address', () => {
    const policy = compilePolicy(
      grant(rule({ scheme: 'http', port: 80, host: '*.0.0.1' }), rule({ scheme: 'http', port: 80, host: '127.0.0.2' })),
      policyOf({
        allowances: ['127.0.0.1', '127.0.0.2'].map((host, at) => ({
          id: `a${at}`,
          host,
          cidrs: ['127.0.0.0/8'],
          ports: [80],
          reason: 'x',
        })),
      }),
    );
    expect(outcomeOf(policy, 'GET', 'http://127.0.0.1/')).toBe('HOST_NOT_DECLARED');
    expect(outcomeOf(policy, 'GET', 'http://127.0.0.2/')).toBe('allowed');
  });
});

describe('scheme, port and method', () => {
  const policy = policyFor(
    rule(),
    rule({ host: 'plain.example.com', scheme: 'http', port: 8080, methods: ['POST'] }),
    rule({ host: 'plain.example.com', scheme: 'http', port: 80, methods: ['GET', 'HEAD'], paths: ['/a'] }),
  );

  it.each([22, 25, 53, 80, 6379, 2375, 8443, 4430, 44, 1, 65_535])('port %i is not port 443', (port) => {
    expect(outcomeOf(policy, 'GET', `https://api.example.com:${port}/`)).toBe('PORT_NOT_DECLARED');
    expect(outcomeOf(policy, 'GET', 'https://api.example.com:443/')).toBe('allowed');
  });

  it.each([
    ['GET', 'http://api.example.com/', 'SCHEME_NOT_DECLARED'],
    ['GET', 'http://api.example.com:443/', 'SCHEME_NOT_DECLARED'],
    ['GET', 'https://plain.example.com:8080/', 'SCHEME_NOT_DECLARED'],
    ['POST', 'http://plain.example.com:8080/', 'allowed'],
    ['GET', 'http://plain.example.com:8080/', 'METHOD_NOT_DECLARED'],
    ['POST', 'http://plain.example.com/a', 'METHOD_NOT_DECLARED'],
    ['HEAD', 'http://plain.example.com/a', 'allowed'],
    ['HEAD', 'http://plain.example.com/b', 'PATH_NOT_DECLARED'],
    ['get', 'https://api.example.com/', 'METHOD_NOT_DECLARED'],
    ['GET ', 'https://api.example.com/', 'METHOD_NOT_DECLARED'],
    ['GET\r\nx: y', 'https://api.example.com/', 'METHOD_NOT_DECLARED'],
    ['', 'https://api.example.com/', 'METHOD_NOT_DECLARED'],
    ['__proto__', 'https://api.example.com/', 'METHOD_NOT_DECLARED'],
    ['HEAD', 'https://api.example.com/', 'METHOD_NOT_DECLARED'],
    ['CONNECT', 'https://api.example.com/', 'METHOD_NOT_DECLARED'],
    ['TRACE', 'https://api.example.com/', 'METHOD_NOT_DECLARED'],
    ['GET', 'https://other.example.com/', 'HOST_NOT_DECLARED'],
  ])('%s %s: %s', (method, url, outcome) => {
    expect(outcomeOf(policy, method, url)).toBe(outcome);
  });

  it('no request takes parts from two rules', () => {
    const two = policyFor(
      rule({ methods: ['GET'], paths: ['/read/**'] }),
      rule({ methods: ['POST'], paths: ['/write/**'] }),
    );
    expect(outcomeOf(two, 'GET', 'https://api.example.com/read/x')).toBe('allowed');
    expect(outcomeOf(two, 'POST', 'https://api.example.com/write/x')).toBe('allowed');
    expect(outcomeOf(two, 'POST', 'https://api.example.com/read/x')).toBe('PATH_NOT_DECLARED');
    expect(outcomeOf(two, 'GET', 'https://api.example.com/write/x')).toBe('PATH_NOT_DECLARED');
  });

  it('the reason is that of the rule that came nearest, in whatever order they stand', () => {
    const rules = [
      rule({ host: '*.example.com', scheme: 'http', port: 80 }),
      rule({ port: 8443 }),
      rule({ methods: ['POST'] }),
      rule({ paths: ['/only'] }),
    ];
    for (const order of [rules, rules.toReversed()]) {
      expect(outcomeOf(policyFor(...order), 'GET', 'https://api.example.com/x')).toBe('PATH_NOT_DECLARED');
      expect(outcomeOf(policyFor(...order), 'PUT', 'https://api.example.com/x')).toBe('METHOD_NOT_DECLARED');
      expect(outcomeOf(policyFor(...order), 'GET', 'https://api.example.com:1/x')).toBe('PORT_NOT_DECLARED');
      expect(outcomeOf(policyFor(...order), 'GET', 'https://b.example.com/x')).toBe('SCHEME_NOT_DECLARED');
    }
  });
});

describe('a WebSocket', () => {
  const policy = policyFor(rule({ paths: ['/plain', '/both'] }), rule({ paths: ['/ws', '/both'], websocket: true }));

  it('is allowed by a rule that says so, and by no other', () => {
    expect(outcomeOf(policy, 'GET', 'https://api.example.com/ws', 'websocket')).toBe('allowed');
    expect(outcomeOf(policy, 'GET', 'https://api.example.com/both', 'websocket')).toBe('allowed');
    expect(outcomeOf(policy, 'GET', 'https://api.example.com/plain', 'websocket')).toBe('WEBSOCKET_NOT_DECLARED');
    expect(outcomeOf(policy, 'GET', 'https://api.example.com/none', 'websocket')).toBe('PATH_NOT_DECLARED');
    expect(outcomeOf(policy, 'GET', 'https://api.example.com/ws')).toBe('allowed');
  });

  it('begins with a GET', () => {
    const both = policyFor(rule({ methods: ['GET', 'POST'], websocket: true }));
    expect(outcomeOf(both, 'GET', 'https://api.example.com/', 'websocket')).toBe('allowed');
    expect(outcomeOf(both, 'POST', 'https://api.example.com/', 'websocket')).toBe('WEBSOCKET_NOT_DECLARED');
  });
});

describe('paths', () => {
  it.each<[string, string[], string[]]>([
    ['/', ['/', '?x'], ['/a', '//a', '//']],
    ['/a', ['/a', '/%61'], ['//a', '/', '/a/', '/A', '/ab', '/a%2F', '/b', '/a//']],
    ['/a/', ['/a/'], ['/a', '/a/b', '//a//']],
    ['/a//b', ['/a//b'], ['/a/b', '/a///b']],
    ['/a/b', ['/a/b', '/%61/%62'], ['/a//b', '/a', '/a/b/', '/a/b/c', '/a%2Fb', '/a%5Cb', '/a%252Fb']],
    ['/*', ['/a', '/%2A', '/*', '/a%20b'], ['/', '/a/', '/a/b', '/a%2Fb', '/a%5Cb', '/a%252Fb', '/a%255Cb', '//']],
    ['/a/*/c', ['/a/b/c', '/a/c/c'], ['//a/b/c', '/a/c', '/a//c', '/a/b/b/c', '/a/b%2Fb/c', '/a/%2F/c', '/a/b/C']],
    [
      '/a/**',
      ['/a', '/a/', '/a/b', '/a/b/c/', '/a/b%2Fc', '/a//', '/a/*'],
      ['/', '/ab', '/b/a', '/A/b', '/a%2Fb/c', '/%2Fa/b'],
    ],
    ['/**', ['/', '/a', '/a/b', '//127.0.0.1/x', '/a%2Fb'], []],
    ['/a/*/**', ['/a/b', '/a/b/', '/a/b/c'], ['/a', '/a/', '/a//']],
    ['/a*', ['/a*', '/a%2A', '/a%2a'], ['/a', '/ab']],
    ['/%2A', ['/*', '/%2A'], ['/a']],
    ['/a%2Fb', ['/a%2Fb', '/a%2fb'], ['/a/b', '/a', '/a%252Fb']],
    ['/a%2fb/*', ['/a%2Fb/c'], ['/a/b/c', '/a%2Fb/c%2Fd']],
    ['/ü', ['/ü', '/%C3%BC', '/%c3%bc'], ['/u', '/%FC', '/Ü']],
    ['/a b', ['/a%20b'], ['/a+b', '/ab']],
    ['/a;b', ['/a;b'], ['/a', '/a%3Bb', '/a;B']],
    ['/~a', ['/~a', '/%7Ea', '/%7ea'], ['/a']],
  ])('%s', (pattern, matching, others) => {
    const policy = policyFor(rule({ paths: [pattern] }));
    for (const path of matching)
      expect([path, outcomeOf(policy, 'GET', `https://api.example.com${path}`)]).toEqual([path, 'allowed']);
    for (const path of others) {
      expect([path, outcomeOf(policy, 'GET', `https://api.example.com${path}`)]).toEqual([
        path,
        path === '/%FC' ? 'PATH_AMBIGUOUS' : 'PATH_NOT_DECLARED',
      ]);
    }
  });

  it('all readings match by one rule, and not each by another', () => {
    const decoded = rule({ paths: ['/p/*/*/x'] });
    const raw = rule({ paths: ['/p/*/x'] });
    expect(outcomeOf(policyFor(raw, decoded), 'GET', 'https://api.example.com/p/a%2Fb/x')).toBe('PATH_NOT_DECLARED');
    const both = rule({ paths: ['/p/*/x', '/p/*/*/x'] });
    expect(outcomeOf(policyFor(both), 'GET', 'https://api.example.com/p/a%2Fb/x')).toBe('allowed');
  });

  it('a server that decodes once, or twice, finds no more than the rule says', () => {
    const policy = policyFor(rule({ paths: ['/p/*', '/p/*/*/*'] }));
    expect(outcomeOf(policy, 'GET', 'https://api.example.com/p/a%2Fb%2Fc')).toBe('allowed');
    expect(outcomeOf(policy, 'GET', 'https://api.example.com/p/a%252Fb%252Fc')).toBe('allowed');
    expect(outcomeOf(policy, 'GET', 'https://api.example.com/p/a%2Fb%252Fc')).toBe('PATH_NOT_DECLARED');
    expect(outcomeOf(policy, 'GET', 'https://api.example.com/p/a%5Cb%255Cc')).toBe('PATH_NOT_DECLARED');
    expect(outcomeOf(policy, 'GET', 'https://api.example.com/p/a%252Fb%25252Fc')).toBe('PATH_AMBIGUOUS');
  });

  it('a server that looks for the query in what it has decoded finds no more than the rule says', () => {
    const policy = policyFor(rule({ paths: ['/users/*/avatar', '/labels/*', '/langs/c%23', '/sites/a%3Fb/*'] }));
    for (const path of ['/users/5/avatar', '/labels/c%23', '/labels/%C3%A9?a=b', '/langs/c%23', '/sites/a%3Fb/c']) {
      expect([path, outcomeOf(policy, 'GET', `https://api.example.com${path}`)]).toEqual([path, 'allowed']);
    }
    for (const path of [
      '/users/5%3F/avatar',
      '/users/5%23/avatar',
      '/users/5%253f/avatar',
      '/labels/%23',
      '/langs/c',
    ]) {
      expect([path, outcomeOf(policy, 'GET', `https://api.example.com${path}`)]).toEqual([path, 'PATH_NOT_DECLARED']);
    }
  });

  it('a server that folds what looks like a separator finds no more than the rule says', () => {
    const policy = policyFor(rule({ paths: ['/one/*', '/all/**'] }));
    expect(outcomeOf(policy, 'GET', 'https://api.example.com/one/ａ')).toBe('allowed');
    expect(outcomeOf(policy, 'GET', 'https://api.example.com/all/ａ／b')).toBe('allowed');
    for (const path of ['/one/a／b', '/one/a＼b', '/one/a%EF%BC%8Fb']) {
      expect([path, outcomeOf(policy, 'GET', `https://api.example.com${path}`)]).toEqual([path, 'PATH_NOT_DECLARED']);
    }
  });

  it('a rule is recorded by its place, the first where several match', () => {
    const policy = policyFor(
      rule({ paths: ['/x'] }),
      rule({ host: '*.example.com' }),
      rule({ paths: ['/a/*'] }),
      rule({ paths: ['/a/b'] }),
    );
    for (const [path, place] of [
      ['/x', 0],
      ['/a/b', 1],
      ['/y', 1],
    ] as const) {
      expect(decideOn(policy, 'GET', `https://api.example.com${path}`)).toMatchObject({ rule: `http.rules[${place}]` });
    }
    const later = policyFor(
      rule({ paths: ['/x/**'] }),
      rule({ paths: ['/a/*'] }),
      rule({ paths: ['/a/b'] }),
      rule({ paths: ['/**'] }),
    );
    expect(decideOn(later, 'GET', 'https://api.example.com/a/b')).toMatchObject({ rule: 'http.rules[1]' });
    expect(decideOn(later, 'GET', 'https://api.example.com/a/b%2Fc')).toMatchObject({ rule: 'http.rules[3]' });
  });

  it('no path that is allowed leaves what the patterns say, however it is decoded', () => {
    const piece = fc.constantFrom(
      '/',
      '/',
      'v1',
      'pub',
      'x',
      '%2f',
      '%5C',
      '%25',
      '2f',
      '%2e',
      '.',
      ';',
      '%76',
      '*',
      '%2A',
    );
    const policy = policyFor(rule({ paths: ['/v1/**'] }), rule({ paths: ['/pub/*'] }));
    const seen = { allowed: 0, denied: 0 };
    fc.assert(
      fc.property(
        fc.constantFrom('/v1', '/pub/', '/pub/x', '/'),
        fc.array(piece, { maxLength: 8 }),
        (start, pieces) => {
          const url = `https://api.example.com${start}${pieces.join('')}`;
          if (outcomeOf(policy, 'GET', url) !== 'allowed') {
            seen.denied++;
            return;
          }
          seen.allowed++;
          let text = new URL(url).pathname;
          for (let round = 0; round < 10; round++) {
            for (const read of [text.split(/\/+/), text.split(/[/\\]+/)]) {
              const segments = read.slice(1);
              if (segments[0] === 'v1') continue;
              expect(segments[0]).toMatch(/^(pub|%70ub)$/);
              expect(segments).toHaveLength(2);
            }
            text = text.replace(/%([0-9a-fA-F]{2})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));
          }
        },
      ),
      { seed, numRuns: 3000 },
    );
    expect(Math.min(seen.allowed, seen.denied)).toBeGreaterThan(200);
  });
});

it('one of a thousand rules is found as if it were the only one', () => {
  const rules = Array.from({ length: 1000 }, (_, at) =>
    rule({
      host: ['api.example.com', '*.example.com', `h${at}.example.com`][at % 3] as string,
      port: 443 + (at % 2),
      methods: [at % 5 === 0 ? 'POST' : 'GET'],
      paths: [`/v/${at % 50}/*`, `/w/${at}/**`],
    }),
  );
  const policy = policyFor(...rules);
  const one = rules.map((each) => policyFor(each));
  const seen = { allowed: 0, denied: 0 };
  fc.assert(
    fc.property(
      fc.constantFrom('api', 'h2', 'h5', 'x.api', 'none'),
      fc.constantFrom('GET', 'GET', 'POST'),
      fc.constantFrom(443, 444),
      fc.constantFrom('v', 'w'),
      fc.oneof(fc.nat(49), fc.constantFrom(2, 5, 999)),
      fc.constantFrom('', '/', '/a', '/a/b', '/a%2Fb'),
      (host, method, port, top, at, rest) => {
        const read = parseTarget(`https://${host}.example.com:${port}/${top}/${at}${rest}`);
        if (read.kind === 'denied') throw new Error(read.reason);
        const request = { target: read.target, method, websocket: false };
        const first = one.findIndex((single) => single.decide(request).kind === 'allowed');
        const decision = policy.decide(request);
        seen[decision.kind]++;
        if (first === -1) expect(decision.kind).toBe('denied');
        else expect(decision).toMatchObject({ kind: 'allowed', rule: `http.rules[${first}]` });
      },
    ),
    { seed, numRuns: 400 },
  );
  expect(Math.min(seen.allowed, seen.denied)).toBeGreaterThan(30);
});

it('patterns that share their beginnings are told apart as if each were the only one', () => {
  const segment = fc.constantFrom('a', 'b', '*', '');
  const pattern = fc
    .tuple(fc.array(segment, { minLength: 1, maxLength: 4 }), fc.boolean())
    .map(([segments, open]) => `/${[...segments, ...(open ? ['**'] : [])].join('/')}`);
  const seen = { allowed: 0, denied: 0 };
  fc.assert(
    fc.property(
      fc.array(pattern, { minLength: 1, maxLength: 12 }),
      fc.array(fc.constantFrom('a', 'b', '', 'a%2Fb'), { minLength: 1, maxLength: 5 }),
      (patterns, segments) => {
        const url = `https://api.example.com/${segments.join('/')}`;
        const first = patterns.findIndex(
          (each) => outcomeOf(policyFor(rule({ paths: [each] })), 'GET', url) === 'allowed',
        );
        const decision = decideOn(policyFor(...patterns.map((each) => rule({ paths: [each] }))), 'GET', url);
        seen[decision.kind]++;
        if (first === -1) expect(decision.kind).toBe('denied');
        else expect(decision).toMatchObject({ kind: 'allowed', rule: `http.rules[${first}]` });
      },
    ),
    { seed, numRuns: 500 },
  );
  expect(Math.min(seen.allowed, seen.denied)).toBeGreaterThan(50);
});

it('the largest manifest takes little of the memory of its host, for all methods and in every reading', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const methods: HttpRule['methods'] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
  const paths = Array.from({ length: 250 }, (_, at) => `/${at}${'/a'.repeat(500)}`);
  collect();
  const before = process.memoryUsage().heapUsed;
  const policy = policyFor(rule({ methods, paths }));
  for (const method of methods) {
    expect(outcomeOf(policy, method, 'https://api.example.com/1/%61')).toBe('PATH_NOT_DECLARED');
    expect(outcomeOf(policy, method, `https://api.example.com/1${'/%61'.repeat(500)}`)).toBe('allowed');
  }
  collect();
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(64 * 2 ** 20);
});
