import { type EgressPolicy, egressPolicyLimits, egressPolicySchema, type HttpRule } from '@glovebox/contract';
import { type BenchOrigin, originHost } from './origin.ts';

/** Rules of a manifest beside the one that counts: with it, as many as one can have. */
const otherRules = 99;

const otherRule = (i: number): HttpRule => ({
  scheme: 'https',
  host: i % 3 === 0 ? `*.tenant-${i}.example.com` : `api-${i}.example.com`,
  port: 443,
  methods: ['GET', 'POST'],
  paths: [`/v1/items-${i}/*/entries`, `/v2/${i}/**`],
  websocket: false,
});

/** 100 rules; the last is the one that lets the origin be asked. */
export const manifestRules = (port: number): HttpRule[] => [
  ...Array.from({ length: otherRules }, (_, i) => otherRule(i)),
  { scheme: 'https', host: originHost, port, methods: ['GET'], paths: ['/answers/**'], websocket: false },
];

/** A policy whose maximum has 1,000 rules, of which the last is the origin's, and that lets its name lead to loopback. */
export function policyOfManyRules({ host, port }: Pick<BenchOrigin, 'host' | 'port'>): EgressPolicy {
  const rules = manifestRules(port).slice(-1);
  const others = Array.from({ length: egressPolicyLimits.maximumRules - rules.length }, (_, i) => otherRule(i));
  return egressPolicySchema.parse({
    allowances: [{ id: 'origin', host, cidrs: ['127.0.0.1/32'], ports: [port], reason: 'a benchmark' }],
    maximum: { rules: [...others, ...rules].map((rule, i) => ({ ...rule, id: `rule-${i}` })) },
  });
}
