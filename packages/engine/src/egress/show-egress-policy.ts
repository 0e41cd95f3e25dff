import { canonicalJson, sha256Of } from '@glovebox/artifact';
import type { EgressPolicy } from '@glovebox/contract';
import type { Engine } from '../engine.ts';
import type { EgressPolicyRevision } from '../ports.ts';

/** A project's egress policy as it stands, with the digest that the audit chain has of it. */
export interface ShownEgressPolicy extends EgressPolicyRevision {
  readonly digest: string;
}

/** @throws GloveboxError `EGRESS_POLICY_INVALID` when what is kept is none: no node of the project that declares http runs then. */
export async function showEgressPolicy(
  { egressPolicies }: Pick<Engine, 'egressPolicies'>,
  project: string,
): Promise<ShownEgressPolicy> {
  const revision = await egressPolicies.get(project);
  return { ...revision, digest: policyDigest(revision.policy) };
}

/** sha256 of the canonical JSON. */
export const policyDigest = (policy: EgressPolicy): string => sha256Of(canonicalJson(policy));
