import type { EgressApprover, EgressReason } from '@glovebox/contract';
import type { Decision, Denial, Request } from './api.ts';
import { patchFor } from './denial-patch.ts';
import { readPath } from './path-match.ts';
import type { ProjectLimits } from './policy-limits.ts';
import type { RuleMatch, RuleTable } from './rules.ts';
import { neverAddress, neverName } from './special-use-never.ts';

/** Decide on a request by all that is known before its name is looked up. Whatever is not allowed by a rule is denied. */
export function decide(request: Request, rules: RuleTable | undefined, limits: ProjectLimits): Decision {
  if (rules === undefined) return undeclared('HTTP_NOT_DECLARED', request, limits);
  const denied = deniedByProject(request, limits);
  if (denied !== undefined) return denied;
  const readings = readPath(request.target.path);
  const match = rules.match(request, readings);
  if (match.kind === 'missed') return undeclared(missing[match.at], request, limits);
  const allowances = limits.allowancesOf(request.target).filter(({ ports }) => ports.includes(request.target.port));
  // An address in place of a name evades every rule on names, so an admin lists each that may be asked for by itself.
  if (request.target.literal !== undefined && allowances.length === 0) return unlistedAddress;
  if (limits.maximum?.match(request, readings).kind === 'missed') return aboveMaximum;
  return { kind: 'allowed', rule: `http.rules[${match.index}]`, allowances };
}

const missing: Readonly<Record<Extract<RuleMatch, { kind: 'missed' }>['at'], EgressReason>> = {
  host: 'HOST_NOT_DECLARED',
  scheme: 'SCHEME_NOT_DECLARED',
  port: 'PORT_NOT_DECLARED',
  method: 'METHOD_NOT_DECLARED',
  path: 'PATH_NOT_DECLARED',
  websocket: 'WEBSOCKET_NOT_DECLARED',
};

/** What no manifest can change: names that are never asked for, and denials by name. */
function deniedByProject({ target }: Request, limits: ProjectLimits): Denial | undefined {
  const never = target.literal === undefined ? neverName(target.host) : neverAddress(target.literal);
  if (never !== undefined) return denial('ADDRESS_NEVER_ALLOWED', `never:${never.id}`, 'nobody');
  const id = limits.denialOf(target);
  return id === undefined ? undefined : denial('DENIED_BY_POLICY', id, 'admin');
}

const denial = (reason: EgressReason, rule: string | null, approver: EgressApprover): Denial => ({
  kind: 'denied',
  reason,
  rule,
  patch: null,
  approver,
});

const unlistedAddress = denial('HOST_NOT_DECLARED', null, 'admin');
const aboveMaximum = denial('ABOVE_POLICY_MAXIMUM', null, 'admin');

/** Denied for want of a rule. A patch is offered only where the request would then be allowed. */
function undeclared(reason: EgressReason, request: Request, limits: ProjectLimits): Denial {
  const beyond = deniedByProject(request, limits);
  if (beyond !== undefined) return { ...beyond, reason, rule: null };
  const patch = patchFor(request);
  if (patch === null) return denial(reason, null, 'nobody');
  const isAbove = limits.maximum?.match(request, readPath(request.target.path)).kind === 'missed';
  if (isAbove) return denial(reason, null, 'admin');
  return { ...denial(reason, null, 'approver'), patch };
}
