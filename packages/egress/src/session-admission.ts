import type { Refusal } from './answers.ts';
import type { Allowance, CellRequest, Denial, Policy, Target } from './api.ts';
import type { Budgets } from './budgets.ts';
import { denialProblem, refusal } from './denial.ts';
import type { AttemptFence } from './fence.ts';
import { onwardHeaders } from './headers.ts';
import type { RedirectTrail } from './redirects.ts';
import { readAsks } from './session-asks.ts';
import { parseTarget } from './target.ts';

/** What may be dialled, as it was decided on. */
export interface Admitted {
  readonly kind: 'admitted';
  readonly target: Target;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly websocket: boolean;
  /** Asked for; how many there may be is for the budget to say. */
  readonly retries: number;
  readonly rule: string;
  readonly allowances: readonly Allowance[];
  /** Redirects that led here. */
  readonly hops: number;
}

export interface Refused {
  readonly kind: 'refused';
  /** Undefined where the URL itself was refused. */
  readonly target: Target | undefined;
  readonly refusal: Refusal;
}

export type Admission = Admitted | Refused;

export interface AdmissionPorts {
  readonly fence: AttemptFence;
  readonly policy: Policy;
  readonly budgets: Budgets;
  readonly trail: RedirectTrail;
}

/** Requests of one attempt that may be open at once: as many as the channel has streams. */
export const maxOpen = 64;

/**
 * Decide on one request by its head. Nothing is looked up and nothing is sent. What the policy denies uses up no budget.
 *
 * @param open requests of the attempt that are open, this one included.
 */
export function admit(head: CellRequest['head'], open: number, ports: AdmissionPorts): Admission {
  const { method, url } = head;
  const parsed = parseTarget(url);
  const target = parsed.kind === 'target' ? parsed.target : undefined;
  const refused = (why: Refusal): Refused => ({ kind: 'refused', target, refusal: why });

  if (!ports.fence.isOpen) return refused(lateRefusal);
  if (parsed.kind === 'denied') return refused(denied(parsed, method, undefined));
  const headers = onwardHeaders(head.headers);
  if (headers.kind === 'denied') return refused(denied(headers, method, target));
  // What is safe to repeat is repeated, and a GET that says it is a POST is not safe.
  if (headers.methods.length > 0 && method !== 'POST')
    return refused(denied(refusal('HEADER_REFUSED'), method, target));
  const asks = readAsks(head.headers, method);
  if (asks.kind === 'refused') {
    const { reason, message, hint } = asks;
    return refused({ ...denied(refusal('HEADER_REFUSED'), method, target), reason, message, hint });
  }
  const { websocket, retries } = asks;
  const decision = ports.policy.decide({ target: parsed.target, method, websocket });
  if (decision.kind === 'denied') return refused(denied(decision, method, target));
  // A POST that says it is a DELETE is one to many a server, so a rule has to allow either.
  for (const other of headers.methods) {
    const otherwise = ports.policy.decide({ target: parsed.target, method: other, websocket });
    if (otherwise.kind === 'denied') return refused(denied(otherwise, other, target));
  }

  if (open > maxOpen)
    return refused(overBudget('TOO_MANY_REQUESTS', `More than ${maxOpen} requests are open at once.`));
  if (ports.budgets.takeRequest() === 'none-left')
    return refused(overBudget('TOO_MANY_REQUESTS', 'The attempt has used all requests of its manifest.'));
  const hops = ports.trail.follow(parsed.target);
  if (hops === 'too-many')
    return refused(overBudget('TOO_MANY_REDIRECTS', 'More redirects led here than the manifest has.'));
  const { rule, allowances } = decision;
  return {
    kind: 'admitted',
    target: parsed.target,
    method,
    headers: headers.headers,
    websocket,
    retries,
    rule,
    allowances,
    hops,
  };
}

function denied(denial: Denial, method: string, target: Target | undefined): Refusal {
  const { code, reason, rule, patch, approver, hint } = denialProblem(denial);
  const what = target === undefined ? 'its URL' : `${target.scheme}://${target.authority}${target.path}`;
  return {
    kind: 'denied',
    code,
    reason,
    rule,
    patch,
    approver,
    hint,
    message: `A ${method} request was denied, ${reason}: ${what}.`,
  };
}

const lateRefusal: Refusal = {
  kind: 'denied',
  code: 'EGRESS_DENIED',
  reason: 'ATTEMPT_ENDED',
  message: 'The attempt has ended, or its deadline has passed.',
};

/** What is over a budget of the manifest takes a manifest with a larger one, and whoever approves that. */
const overBudget = (reason: 'TOO_MANY_REQUESTS' | 'TOO_MANY_REDIRECTS', message: string): Refusal => ({
  kind: 'over-budget',
  code: 'EGRESS_BUDGET',
  reason,
  approver: 'approver',
  message,
});
