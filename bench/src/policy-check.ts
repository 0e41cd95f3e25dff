import type { Policy } from '@glovebox/egress';
import { compilePolicy, parseTarget } from '@glovebox/egress/offline';
import { manifestRules, policyOfManyRules } from './egress-rules.ts';
import { originHost } from './origin.ts';
import { Samples } from './samples.ts';

const port = 443;
const requestsInSample = 1_000;

/**
 * What it takes to read the URL of a request and decide on it, in microseconds: each sample is the mean over 1,000 requests, of
 * which half match only the last rule and the others none, by host, by path or by method.
 */
export async function policyChecks(count: number): Promise<Samples> {
  const policy = compilePolicy(
    { rules: manifestRules(port), maxRequests: 1, maxResponseBytes: 1, maxRedirects: 0 },
    policyOfManyRules({ host: originHost, port }),
  );
  requireDecisions(policy);
  const samples = new Samples('lowest');
  decideAll(policy);
  for (let i = 0; i < count; i++)
    await samples.take(async () => {
      const started = performance.now();
      decideAll(policy);
      return ((performance.now() - started) * 1000) / requestsInSample;
    });
  return samples;
}

const urls: readonly [method: string, url: (i: number) => string][] = [
  ['GET', (i) => `https://${originHost}/answers/${i}?page=${i}`],
  ['GET', (i) => `https://api-${i}.example.org/v1/items`],
  ['GET', (i) => `https://${originHost}/answers/of/${i}/b%20c`],
  ['GET', (i) => `https://sub.tenant-${(i % 33) * 3}.example.com/v3/${i}`],
  ['GET', () => `https://${originHost}/answers/small`],
  ['DELETE', (i) => `https://${originHost}/answers/${i}`],
];

function decideAll(policy: Policy): void {
  for (let i = 0; i < requestsInSample; i++) {
    const [method, url] = urls[i % urls.length] as (typeof urls)[number];
    decide(policy, method, url(i));
  }
}

function decide(policy: Policy, method: string, url: string): 'allowed' | 'denied' {
  const parsed = parseTarget(url);
  return parsed.kind === 'denied' ? 'denied' : policy.decide({ target: parsed.target, method, websocket: false }).kind;
}

/** A policy that refused everything, or nothing, would be quick. */
function requireDecisions(policy: Policy): void {
  const decided = urls.map(([method, url]) => decide(policy, method, url(1))).join();
  if (decided !== 'allowed,denied,allowed,denied,allowed,denied') throw new Error(`decided otherwise: ${decided}`);
}
