import type { EgressPolicy, HttpRule } from '@glovebox/contract';
import {
  type AddressVerdict,
  type Allowance,
  compilePolicy,
  type Decision,
  type HttpGrant,
  type Policy,
  parseAddress,
  parseTarget,
  readEgressPolicy,
} from '../../src/index.ts';

/** A rule as a manifest has it, with its defaults. */
export const rule = (over: Partial<HttpRule> = {}): HttpRule => ({
  scheme: 'https',
  host: 'api.example.com',
  port: 443,
  methods: ['GET'],
  paths: ['/**'],
  websocket: false,
  ...over,
});

export const grant = (...rules: HttpRule[]): HttpGrant => ({
  rules,
  maxRequests: 50,
  maxResponseBytes: 1024,
  maxRedirects: 3,
});

export const policyOf = (over: Partial<Record<keyof EgressPolicy, unknown>> = {}): EgressPolicy =>
  readEgressPolicy(over);

/** A policy for rules of a manifest, where no admin has set anything. */
export const policyFor = (...rules: HttpRule[]): Policy => compilePolicy(grant(...rules), policyOf());

/** As it is done for a cell: read the URL, then decide on what was read. */
export function decideOn(
  policy: Policy,
  method: string,
  url: string,
  kind: 'request' | 'websocket' = 'request',
): Decision {
  const read = parseTarget(url);
  if (read.kind === 'denied') return read;
  return policy.decide({ target: read.target, method, websocket: kind === 'websocket' });
}

/** `allowed`, or the reason. */
export function outcomeOf(
  policy: Policy,
  method: string,
  url: string,
  kind: 'request' | 'websocket' = 'request',
): string {
  const decision = decideOn(policy, method, url, kind);
  return decision.kind === 'allowed' ? decision.kind : decision.reason;
}

/** `allowed`, or the reason, for a connection to an address. */
export function verdictOn(
  policy: Policy,
  address: string,
  { host = 'api.example.com', port = 443, allowances = [] as readonly Allowance[] } = {},
): string {
  const verdict: AddressVerdict = policy.judgeAddress({ host, port }, bytesOf(address), allowances);
  return verdict.kind === 'allowed' ? verdict.kind : verdict.reason;
}

export function bytesOf(text: string): Uint8Array {
  const bytes = parseAddress(text);
  if (bytes === undefined) throw new Error(`${text} is no address`);
  return bytes;
}
