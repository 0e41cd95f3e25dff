import type { EgressApprover, EgressReason, HttpRule, Json } from '@glovebox/contract';
import type { Allowance, Decision, HttpGrant, Policy, Target } from '@glovebox/egress';
import type { Engine } from '../engine.ts';
import { resolveRelease } from '../releases/resolve-release.ts';
import { loadReleased } from '../releases/trusted-artifact.ts';

export interface EgressQuestion {
  readonly project: string;
  readonly method: string;
  readonly url: string;
  readonly websocket: boolean;
  /** Whose rules the request is held to. `anybody`: as if a manifest declared it, so that the policy alone decides. */
  readonly declaredBy:
    | { readonly kind: 'release'; readonly reference: string }
    /** Of a manifest that is not published; none means that it declares no http. */
    | { readonly kind: 'rules'; readonly rules: readonly HttpRule[] }
    | { readonly kind: 'anybody' };
  /** `look-up`: judge what the name leads to now as well. A name that is denied is not looked up. */
  readonly addresses: 'none' | 'look-up';
}

export interface EgressVerdict {
  readonly allowed: boolean;
  /** As the URL was read; null where it was refused. */
  readonly request: (Pick<Target, 'scheme' | 'host' | 'port' | 'path'> & { method: string; websocket: boolean }) | null;
  readonly rule: string | null;
  readonly reason: EgressReason | null;
  readonly hint: string | null;
  readonly patch: Json | null;
  readonly approver: EgressApprover | null;
  readonly allowances: readonly string[];
  readonly addresses: readonly AddressJudgement[] | null;
  readonly revision: number;
}

export interface AddressJudgement {
  readonly address: string;
  readonly allowed: boolean;
  readonly reason: EgressReason | null;
  readonly rule: string | null;
  readonly why: string | null;
}

/**
 * Tell what would be decided of a request now, and by which rule. Nothing is sent; budgets and what is left of a run's time are no
 * part of it.
 *
 * @throws GloveboxError `EGRESS_POLICY_INVALID`; for a release, as showRelease does and what its artifact may lack;
 *   `EGRESS_FAILED` where the name cannot be looked up, `INTERRUPTED` as soon as `signal` is aborted.
 */
export async function checkEgress(
  engine: Pick<Engine, 'egressPolicies' | 'releases' | 'artifacts' | 'audit' | 'keys' | 'resolver'>,
  question: EgressQuestion,
  signal: AbortSignal,
): Promise<EgressVerdict> {
  const { compilePolicy, parseTarget } = await import('@glovebox/egress/offline');
  const { policy: projectPolicy, revision } = await engine.egressPolicies.get(question.project);
  const parsed = parseTarget(question.url);
  if (parsed.kind === 'denied') return denied(parsed, null, revision);
  const { target } = parsed;
  const { method, websocket } = question;
  const policy = compilePolicy(await grantOf(engine, question, target), projectPolicy);
  const { scheme, host, port, path } = target;
  const request = { method, scheme, host, port, path, websocket };
  const decision = policy.decide({ target, method, websocket });
  if (decision.kind === 'denied') return denied(decision, request, revision);
  const { allowances } = decision;
  const addresses =
    question.addresses === 'none' ? null : await judgeAddresses(engine, policy, target, allowances, signal);
  const refused = addresses?.find(({ allowed }) => !allowed);
  if (refused?.reason != null) {
    const approver = refused.reason === 'ADDRESS_NEVER_ALLOWED' ? 'nobody' : 'admin';
    const denial = { kind: 'denied', reason: refused.reason, rule: refused.rule, patch: null, approver } as const;
    return { ...(await denied(denial, request, revision)), allowances: allowances.map(({ id }) => id), addresses };
  }
  return {
    allowed: true,
    request,
    // Of a manifest that there is not, no rule has a name.
    rule: question.declaredBy.kind === 'anybody' ? null : decision.rule,
    reason: null,
    hint: null,
    patch: null,
    approver: null,
    allowances: allowances.map(({ id }) => id),
    addresses,
    revision,
  };
}

async function denied(
  denial: Extract<Decision, { kind: 'denied' }>,
  request: EgressVerdict['request'],
  revision: number,
): Promise<EgressVerdict> {
  const { denialProblem } = await import('@glovebox/egress/offline');
  const { rule, reason, patch, approver, hint } = denialProblem(denial);
  return { allowed: false, request, rule, reason, hint, patch, approver, allowances: [], addresses: null, revision };
}

/** Budgets decide nothing here. */
const budgets = { maxRequests: 1, maxResponseBytes: 1, maxRedirects: 0 };

async function grantOf(
  engine: Parameters<typeof checkEgress>[0],
  { project, method, websocket, declaredBy }: EgressQuestion,
  { scheme, host, port }: Target,
): Promise<HttpGrant | undefined> {
  switch (declaredBy.kind) {
    case 'anybody':
      // Of any method, also one that no manifest can have: that one is then denied for its method.
      return {
        ...budgets,
        rules: [{ scheme, host, port, methods: knownMethods(method), paths: ['/**'], websocket }],
      };
    case 'rules':
      return declaredBy.rules.length === 0 ? undefined : { ...budgets, rules: declaredBy.rules };
    case 'release': {
      const release = await resolveRelease(engine.releases, project, declaredBy.reference);
      const { config } = await loadReleased(engine, release);
      const { http } = config.manifest.capabilities;
      return http === undefined ? undefined : { ...budgets, rules: http.rules };
    }
  }
}

const declarable: readonly HttpRule['methods'][number][] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];

const knownMethods = (method: string): HttpRule['methods'] => declarable.filter((known) => known === method);

async function judgeAddresses(
  { resolver }: Pick<Engine, 'resolver'>,
  policy: Policy,
  target: Target,
  allowances: readonly Allowance[],
  signal: AbortSignal,
): Promise<AddressJudgement[]> {
  const { formatAddress } = await import('@glovebox/egress/offline');
  const addresses = target.literal === undefined ? await resolver.resolve(target.host, signal) : [target.literal];
  return addresses.map((bytes) => {
    const verdict = policy.judgeAddress(target, bytes, allowances);
    const address = formatAddress(bytes);
    return verdict.kind === 'allowed'
      ? { address, allowed: true, reason: null, rule: null, why: null }
      : { address, allowed: false, reason: verdict.reason, rule: verdict.rule, why: verdict.why };
  });
}
