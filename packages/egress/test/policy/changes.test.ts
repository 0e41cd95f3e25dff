import type { EgressPolicy } from '@glovebox/contract';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { comparePolicies, compilePolicy, parseAddress, parseTarget } from '../../src/index.ts';
import { grant, policyOf, rule } from './kit.ts';

const seed = 81;

const names = ['example.com', 'a.example.com', 'b.a.example.com', 'other.test'];
const patterns = [...names, '*.example.com', '*.a.example.com', '*.test'];
const ports = [443, 8443];
const methods = ['GET', 'POST'] as const;
const blocks = ['10.0.0.0/8', '10.1.0.0/16', '192.0.2.0/24', '203.0.113.0/25', '::ffff:10.1.0.0/112', 'fd00::/8'];
const addresses = ['10.1.2.3', '10.2.0.1', '192.0.2.1', '203.0.113.1', '203.0.113.200', 'fd00::1', '8.8.8.8'];
const pathPatterns = [
  '/**',
  '/v1/**',
  '/v1/*',
  '/v1/*/x',
  '/v1/a',
  '/v1/%61',
  '/v1/A',
  '/v1/a%2Fb',
  '/v1/a%3Fb/*',
  '/v1/',
  '/v1',
];
const paths = [
  '/',
  '/v1',
  '/v1/',
  '/v1/a',
  '/v1/A',
  '/v1/a/x',
  '/v1/a%2Fx',
  '/v1/a%2Fb',
  '/v1//a',
  '/v2/a',
  '/v1/a%3Fb/x',
  '/v1/b%23/x',
];

const some = <T>(values: readonly T[], max = 2) =>
  fc.uniqueArray(fc.constantFrom(...values), { minLength: 1, maxLength: max });
const allowance = fc.record({ host: fc.constantFrom(...patterns), cidrs: some(blocks), ports: some(ports) });
const denial = fc
  .record({ host: fc.constantFrom(...patterns), cidr: fc.constantFrom(...blocks, '0.0.0.0/0') }, { requiredKeys: [] })
  .filter(({ host, cidr }) => host !== undefined || cidr !== undefined);
/** A rule's wildcard is over two labels at least. */
const rulePatterns = patterns.filter((pattern) => pattern !== '*.test');
const maximumRule = fc.record({
  host: fc.constantFrom(...rulePatterns),
  port: fc.constantFrom(...ports),
  methods: some(methods),
  paths: some(pathPatterns, 3),
  websocket: fc.boolean(),
});
const policy = fc
  .record({
    allowances: fc.array(allowance, { maxLength: 2 }),
    denials: fc.array(denial, { maxLength: 2 }),
    maximum: fc.option(fc.array(maximumRule, { maxLength: 3 })),
  })
  .map(({ allowances, denials, maximum }) =>
    policyOf({
      allowances: allowances.map((one, i) => ({ ...one, id: `a${i}`, reason: 'r' })),
      denials: denials.map((one, i) => ({ ...one, id: `d${i}`, reason: 'r' })),
      maximum: maximum === null ? null : { rules: maximum.map((one, i) => ({ ...one, id: `m${i}` })) },
    }),
  );

/** A manifest that declares all that is asked here: what is left is the policy. */
const everything = grant(
  ...names.flatMap((host) =>
    ports.map((port) => rule({ host, port, methods: [...methods], paths: ['/**'], websocket: true })),
  ),
);

/** Every request of those above, and whether it gets to each of the addresses. */
function passing(of: EgressPolicy): Set<string> {
  const compiled = compilePolicy(everything, of);
  const found = new Set<string>();
  for (const host of names)
    for (const port of ports)
      for (const method of methods)
        for (const path of paths)
          for (const websocket of method === 'GET' ? [false, true] : [false]) {
            const read = parseTarget(`https://${host}:${port}${path}`);
            if (read.kind !== 'target') throw new Error('it is no target');
            const decision = compiled.decide({ target: read.target, method, websocket });
            if (decision.kind === 'denied') continue;
            for (const text of addresses) {
              const bytes = parseAddress(text) as Uint8Array;
              if (compiled.judgeAddress(read.target, bytes, decision.allowances).kind === 'allowed')
                found.add([host, port, method, path, websocket, text].join(' '));
            }
          }
  return found;
}

it('tells every policy that lets a request through which the one before did not', () => {
  const counted = { wider: 0, told: 0, same: 0 };
  fc.assert(
    fc.property(policy, policy, (before, after) => {
      const { widens, narrows } = comparePolicies(before, after);
      const [had, has] = [passing(before), passing(after)];
      const more = [...has].filter((request) => !had.has(request));
      const less = [...had].filter((request) => !has.has(request));
      if (more.length > 0) expect({ more: more.slice(0, 3), told: widens.length > 0 }).toMatchObject({ told: true });
      if (less.length > 0) expect({ less: less.slice(0, 3), told: narrows.length > 0 }).toMatchObject({ told: true });
      if (more.length > 0) counted.wider++;
      if (widens.length > 0) counted.told++;
      if (widens.length === 0 && narrows.length === 0) counted.same++;
    }),
    { seed, numRuns: 600 },
  );
  // Neither is everything told as wider, nor is nothing ever wider.
  expect(counted.wider).toBeGreaterThan(100);
  expect(counted.told).toBeLessThan(600);
});

it('tells nothing of a policy that is the one before in other words', () => {
  fc.assert(
    fc.property(policy, (one) => {
      const renamed = policyOf({
        allowances: one.allowances.toReversed().map((rest, i) => ({ ...rest, id: `x${i}`, reason: 'another' })),
        denials: one.denials.toReversed(),
        maximum: one.maximum === null ? null : { rules: one.maximum.rules.toReversed() },
      });
      expect(comparePolicies(one, renamed)).toEqual({ widens: [], narrows: [] });
    }),
    { seed, numRuns: 300 },
  );
});
