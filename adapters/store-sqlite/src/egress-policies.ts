import { createHash } from 'node:crypto';
import { GloveboxError } from '@glovebox/contract/errors';
import { appendAudit } from './audit-chain.ts';
import type { Statements } from './statements.ts';

/** As it is kept: whoever reads it holds the value against the schema of today. */
export interface StoredEgressPolicy {
  value: unknown;
  revision: number;
  changedAt: number;
  changedBy: string;
}

interface PolicyRow {
  revision: number;
  digest: string;
  changed_by: string;
  changed_ms: number;
  policy_text: string;
}

/** @throws GloveboxError `EGRESS_POLICY_INVALID` where the text has not the digest that was audited when it was set. */
export function getEgressPolicy(sql: Statements, project: string): StoredEgressPolicy | undefined {
  const row = latest(sql, project);
  if (row === undefined) return undefined;
  // A nearer look than the file system's: a policy that lost a denial on the way to us would let more through.
  if (digestOf(row.policy_text) !== row.digest) {
    throw new GloveboxError('EGRESS_POLICY_INVALID', {
      message: `Revision ${row.revision} of the egress policy of ${project} is not what was set.`,
      hint: 'Set the policy again; glovebox audit list --action policy.set tells who set it, and its digest.',
    });
  }
  return {
    value: JSON.parse(row.policy_text),
    revision: row.revision,
    changedAt: row.changed_ms,
    changedBy: row.changed_by,
  };
}

export function setEgressPolicy(
  sql: Statements,
  set: {
    project: string;
    /** Canonical JSON. */
    policyText: string;
    expectedRevision: number;
    actor: string;
    atMs: number;
  },
): 'set' | 'stale' {
  const { project, policyText, expectedRevision, actor, atMs } = set;
  const digest = digestOf(policyText);
  return sql.write(() => {
    const before = latest(sql, project);
    if ((before?.revision ?? 0) !== expectedRevision) return 'stale';
    const revision = expectedRevision + 1;
    sql.run(
      `INSERT INTO egress_policies (project, revision, digest, changed_by, changed_ms, policy_text)
       VALUES (?, ?, ?, ?, ?, ?)`,
      project,
      revision,
      digest,
      actor,
      atMs,
      policyText,
    );
    appendAudit(sql, {
      // Audit counts whole milliseconds.
      atMs: Math.floor(atMs),
      actor,
      project,
      action: 'policy.set',
      subject: project,
      details: { revision, digest, previous: before?.digest ?? null },
    });
    return 'set';
  });
}

/** Along the primary key, whatever the number of revisions. */
function latest(sql: Statements, project: string): PolicyRow | undefined {
  return sql.get<PolicyRow>(
    `SELECT revision, digest, changed_by, changed_ms, policy_text FROM egress_policies
     WHERE project = ? ORDER BY revision DESC LIMIT 1`,
    project,
  );
}

const digestOf = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;
