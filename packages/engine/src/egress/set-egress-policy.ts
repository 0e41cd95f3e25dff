import { type EgressPolicy, GloveboxError } from '@glovebox/contract';
import { type AuditSigning, checkpointAudit } from '../audit/checkpoint-audit.ts';
import type { Engine } from '../engine.ts';
import { policyDigest, type ShownEgressPolicy, showEgressPolicy } from './show-egress-policy.ts';

export interface EgressPolicyChange {
  readonly project: string;
  readonly policy: EgressPolicy;
  /** The revision that this one is to follow. */
  readonly expectedRevision: number;
  /** Whether a person has seen and meant what it lets through in addition. */
  readonly widening: 'refused' | 'confirmed';
  readonly actor: string;
}

export interface ChangedEgressPolicy extends ShownEgressPolicy {
  /** False when it is what was there: there is no new revision then. */
  readonly changed: boolean;
  readonly changes: { readonly widens: readonly string[]; readonly narrows: readonly string[] };
}

/**
 * Set the egress policy of a project. Attempts that have begun keep the one that they began with; the change is audited, and the
 * audit chain signed.
 *
 * @throws GloveboxError `EGRESS_POLICY_INVALID` with the place; `EGRESS_POLICY_WIDER` where it lets more through and that is not
 *   confirmed, with what in `details`; `EGRESS_POLICY_STALE`; and `AUDIT_BROKEN` once it is set, where the audit chain could not
 *   be signed.
 */
export async function setEgressPolicy(
  engine: Pick<Engine, 'egressPolicies'> & AuditSigning,
  { project, policy: unsafePolicy, expectedRevision, widening, actor }: EgressPolicyChange,
): Promise<ChangedEgressPolicy> {
  const { comparePolicies, readEgressPolicy } = await import('@glovebox/egress/offline');
  const policy = readEgressPolicy(unsafePolicy);
  const before = await standing(engine, project);
  if (before !== undefined && before.revision !== expectedRevision) throw stale(project, expectedRevision);
  const changes = comparePolicies(before?.policy ?? nothingAllowed, policy);
  if (before?.digest === policyDigest(policy)) return { ...before, changed: false, changes };
  if (changes.widens.length > 0 && widening !== 'confirmed') throw wider(project, changes);
  const atMs = engine.now();
  const outcome = await engine.egressPolicies.set(project, policy, expectedRevision, actor, atMs);
  if (outcome === 'stale') throw stale(project, expectedRevision);
  await checkpointAudit(engine);
  return {
    policy,
    revision: expectedRevision + 1,
    digest: policyDigest(policy),
    changedAt: atMs,
    changedBy: actor,
    changed: true,
    changes,
  };
}

/** What a policy that cannot be read is compared as: nothing leaves under it, so whatever follows it widens. */
const nothingAllowed: EgressPolicy = {
  schema: 'glovebox.egress-policy/1',
  allowances: [],
  denials: [],
  maximum: { rules: [] },
};

/** Undefined for one that is damaged: to set another is the way out of that. */
async function standing(
  engine: Pick<Engine, 'egressPolicies'>,
  project: string,
): Promise<ShownEgressPolicy | undefined> {
  try {
    return await showEgressPolicy(engine, project);
  } catch (error) {
    if (GloveboxError.is(error, 'EGRESS_POLICY_INVALID')) return undefined;
    throw error;
  }
}

function wider(project: string, { widens, narrows }: ChangedEgressPolicy['changes']): GloveboxError {
  return new GloveboxError('EGRESS_POLICY_WIDER', {
    message: `The policy would let more of ${project} through than the one before: it ${widens[0]}${widens.length > 1 ? `, and ${widens.length - 1} more` : ''}.`,
    details: { widens: [...widens], narrows: [...narrows] },
  });
}

const stale = (project: string, expected: number): GloveboxError =>
  new GloveboxError('EGRESS_POLICY_STALE', {
    message: `The egress policy of ${project} is not at revision ${expected}.`,
  });
