import type { EgressPolicy } from '@glovebox/contract';
import type { HttpGrant, Policy } from './api.ts';
import { judgeAddress } from './policy-address.ts';
import { decide } from './policy-decide.ts';
import { ProjectLimits } from './policy-limits.ts';
import { checkEgressPolicy } from './policy-read.ts';
import { RuleTable } from './rules.ts';

/**
 * Compile what a manifest was granted under what a project allows.
 *
 * A request needs a rule of the manifest, and one of the policy's maximum where that is set. A host that is an address counts
 * as declared only where an allowance lists it too. What denies although nobody wrote it has an id with a colon: `never:…`
 * and `special:…`.
 *
 * @param grant undefined where the manifest declares no http: everything is denied.
 * @throws GloveboxError `EGRESS_POLICY_INVALID` with the place.
 */
export function compilePolicy(grant: HttpGrant | undefined, policy: EgressPolicy): Policy {
  checkEgressPolicy(policy);
  const limits = new ProjectLimits(policy);
  const rules = grant === undefined ? undefined : new RuleTable(grant.rules);
  return {
    decide: (request) => decide(request, rules, limits),
    judgeAddress: (target, address, allowances) => judgeAddress(target, address, allowances, limits),
  };
}
