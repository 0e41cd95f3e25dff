import { defaultEgressPolicy, type EgressPolicy, egressPolicySchema } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { comparePolicies } from './policy-changes.ts';

const policy = (input: object): EgressPolicy => egressPolicySchema.parse(input);
const allow = (...allowances: object[]): EgressPolicy =>
  policy({
    allowances: allowances.map((over, i) => ({
      id: `a${i}`,
      host: 'git.internal',
      cidrs: ['10.0.0.0/8'],
      ports: [443],
      reason: 'git',
      ...over,
    })),
  });
const deny = (...denials: object[]): EgressPolicy =>
  policy({ denials: denials.map((denial, i) => ({ id: `d${i}`, reason: 'no', ...denial })) });
const most = (...rules: object[]): EgressPolicy =>
  policy({
    maximum: {
      rules: rules.map((over, i) => ({
        id: `m${i}`,
        host: 'api.example.com',
        methods: ['GET'],
        paths: ['/v1/**'],
        ...over,
      })),
    },
  });

/** Each leads from a policy to one that lets more through, and back to one that lets less through. */
const wider: [what: string, before: EgressPolicy, after: EgressPolicy, told: RegExp][] = [
  ['an allowance', defaultEgressPolicy, allow({}), /reach git\.internal at 10\.0\.0\.0\/8 on port 443/],
  ['a larger block', allow({ cidrs: ['10.1.0.0/16'] }), allow({}), /10\.0\.0\.0\/8/],
  ['a block more', allow({}), allow({ cidrs: ['10.0.0.0/8', 'fd00::/8'] }), /at fd00::\/8 on/],
  ['a port more', allow({}), allow({ ports: [443, 22] }), /on port 443, 22/],
  ['every sub-domain', allow({ host: 'a.git.internal' }), allow({ host: '*.git.internal' }), /\*\.git/],
  ['the name beside its sub-domains', allow({ host: '*.git.internal' }), allow({ host: 'git.internal' }), /git/],
  ['a name that ends alike', allow({ host: '*.internal' }), allow({ host: 'evilinternal' }), /evil/],
  ['an address under a wildcard', allow({ host: '*.3.4' }), allow({ host: '1.2.3.4' }), /1\.2\.3\.4/],
  [
    'the ports of one allowance with the blocks of another',
    allow({ ports: [80] }, { cidrs: ['172.16.0.0/12'] }),
    allow({ ports: [80, 443], cidrs: ['10.0.0.0/8', '172.16.0.0/12'] }),
    /10\.0\.0\.0\/8, 172\.16/,
  ],
  ['a denial less', deny({ host: 'a.example.com' }), defaultEgressPolicy, /no longer denies a\.example\.com/],
  ['a denial of less', deny({ host: '*.example.com' }), deny({ host: 'a.example.com' }), /\*\.example\.com/],
  ['a denial of fewer addresses', deny({ cidr: '192.0.2.0/24' }), deny({ cidr: '192.0.2.0/25' }), /192\.0\.2\.0\/24/],
  [
    'a denial of a host only at some addresses',
    deny({ host: 'a.example.com' }),
    deny({ host: 'a.example.com', cidr: '192.0.2.0/24' }),
    /no longer denies a\.example\.com/,
  ],
  [
    'a denial of addresses only for a host',
    deny({ cidr: '192.0.2.0/24' }),
    deny({ host: 'a.example.com', cidr: '192.0.2.0/24' }),
    /192\.0\.2\.0\/24/,
  ],
  ['no maximum', most({}), defaultEgressPolicy, /no maximum/],
  ['a rule more', most({}), most({}, { host: 'other.example.com' }), /GET of https:\/\/other\.example\.com:443/],
  ['a rule at all', most(), most({}), /GET/],
  ['a method more', most({}), most({ methods: ['GET', 'POST'] }), /have POST of/],
  ['a port', most({}), most({ port: 8443 }), /8443/],
  ['a scheme', most({ port: 80 }), most({ port: 80, scheme: 'http' }), /http:/],
  ['a larger path', most({ paths: ['/v1/*'] }), most({}), /\/v1\/\*\*/],
  ['a longer path', most({ paths: ['/v1/*'] }), most({ paths: ['/v1/*/x'] }), /\/v1/],
  ['an empty segment', most({ paths: ['/v1/*'] }), most({ paths: ['/v1/'] }), /\/v1\//],
  ['another case', most({ paths: ['/v1/a'] }), most({ paths: ['/v1/A'] }), /\/v1\/A/],
  ['a separator that is escaped', most({ paths: ['/v1/*'] }), most({ paths: ['/v1/a%2Fb'] }), /a%2Fb/],
  ['WebSocket', most({}), most({ websocket: true }), /WebSocket/],
  ['more hosts', most({}), most({ host: '*.example.com' }), /\*\.example\.com/],
  [
    'the paths of one rule with those of another',
    most({ paths: ['/a'] }, { paths: ['/b'] }),
    most({ paths: ['/a', '/b'] }),
    /\/a \/b/,
  ],
];

describe('a policy', () => {
  it.each(wider)('that has %s widens, and the way back narrows', (_what, before, after, told) => {
    const there = comparePolicies(before, after);
    expect(there.widens).toEqual(expect.arrayContaining([expect.stringMatching(told)]));
    const back = comparePolicies(after, before);
    expect(back.narrows).toHaveLength(there.widens.length);
    expect(back.widens).toHaveLength(there.narrows.length);
  });

  it.each<[string, EgressPolicy, EgressPolicy]>([
    ['itself', allow({}), allow({})],
    ['other names and reasons', deny({ host: 'a.example.com' }), deny({ id: 'x', host: 'a.example.com', reason: 'y' })],
    ['another order', deny({ host: 'a.com' }, { host: 'b.com' }), deny({ host: 'b.com' }, { host: 'a.com' })],
    ['two rules for one', most({ methods: ['GET', 'PUT'] }), most({ methods: ['PUT'] }, { methods: ['GET'] })],
    ['what another rule covers', most({}), most({}, { paths: ['/v1/a/*', '/v1'] })],
    ['two spellings of one block', allow({ cidrs: ['::ffff:10.0.0.0/104'] }), allow({})],
    ['two spellings of one path', most({ paths: ['/v1/%61'] }), most({ paths: ['/v1/a'] })],
    ['an allowance within another', allow({}), allow({}, { cidrs: ['10.2.0.0/16'] })],
    [
      'a sub-domain under a wildcard',
      allow({ host: '*.internal' }),
      allow({ host: '*.internal' }, { host: '*.a.internal' }),
    ],
  ])('that has %s changes nothing', (_what, before, after) => {
    expect(comparePolicies(before, after)).toEqual({ widens: [], narrows: [] });
    expect(comparePolicies(after, before)).toEqual({ widens: [], narrows: [] });
  });

  it('that narrows in one place and widens in another is told as both', () => {
    const changes = comparePolicies(
      policy({ ...deny({ host: 'a.example.com' }), allowances: allow({}).allowances }),
      policy(deny({ host: 'b.example.com' })),
    );
    expect(changes).toEqual({
      widens: ['no longer denies a.example.com (denial d0)'],
      narrows: [
        'no longer lets nodes reach git.internal at 10.0.0.0/8 on port 443 (allowance a0)',
        'denies b.example.com (denial d0)',
      ],
    });
  });

  it('with many blocks for one name is compared soon: whoever sets one must not keep others waiting', () => {
    const many = (second: number) =>
      allow(
        ...Array.from({ length: 64 }, (_, i) => ({
          cidrs: Array.from({ length: 64 }, (_, j) => `10.${second + (i >> 2)}.${(i & 3) * 64 + j}.0/24`),
          ports: Array.from({ length: 32 }, (_, port) => port + 1),
        })),
      );
    const [before, after] = [many(0), many(100)];
    const startedAt = performance.now();
    expect(comparePolicies(before, after)).toMatchObject({ widens: { length: 64 }, narrows: { length: 64 } });
    // Half a second where it was written; fifteen where each pair is read anew.
    expect(performance.now() - startedAt).toBeLessThan(6000);
  });
});
