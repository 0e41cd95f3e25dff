import type { EgressPolicy, EgressRecord } from '@glovebox/contract';

/** What was decided of requests, and what came of them. */
export interface EgressLog {
  /**
   * Keep all of them or none, in one transaction. A request comes twice: the record of its end takes the place of that of
   * its decision. They belong together by project, attempt and `seq`; a record without an attempt stands for itself.
   */
  append(records: readonly EgressLogEntry[]): Promise<void>;
  /** The newest first. `before` is the `cursor` of a record that was listed. */
  list(query: {
    project: string;
    limit: number;
    before?: string;
    run?: string;
    host?: string;
    outcome?: EgressRecord['outcome'];
  }): Promise<(EgressRecord & { cursor: string })[]>;
}

export interface EgressLogEntry {
  project: string;
  record: EgressRecord;
}

/** The egress policy of each project, in revisions. */
export interface EgressPolicies {
  /** Revision 0 and the default policy where nobody has set one. @throws GloveboxError `EGRESS_POLICY_INVALID` when what is kept is none. */
  get(project: string): Promise<EgressPolicyRevision>;
  /**
   * Audited in the same transaction, with the policy's digest. `stale`: it is at another revision than expected.
   *
   * @param actor who set it, as the audit chain names him.
   */
  set(
    project: string,
    policy: EgressPolicy,
    expectedRevision: number,
    actor: string,
    atMs: number,
  ): Promise<'set' | 'stale'>;
}

export interface EgressPolicyRevision {
  policy: EgressPolicy;
  revision: number;
  /** Null where nobody has set one. */
  changedAt: number | null;
  changedBy: string | null;
}
