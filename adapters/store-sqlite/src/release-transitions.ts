import type { AuditEvent, Release } from '@glovebox/contract';
import { GloveboxError } from '@glovebox/contract/errors';
import type { PassedValidation, ReleaseStore } from '@glovebox/engine';
import { appendAudit } from './audit-chain.ts';
import { getDraft } from './draft-queries.ts';
import { readRelease } from './release-queries.ts';
import type { Statements } from './statements.ts';
import { isPrerelease, versionKey } from './version-key.ts';

type Publish = Parameters<ReleaseStore['publish']>[0];
type StateChange = Parameters<ReleaseStore['setState']>[0];
type ImageChange = Parameters<ReleaseStore['setImage']>[0];

export function publishRelease(
  sql: Statements,
  publish: Publish,
  event: AuditEvent,
):
  | { kind: 'published' | 'unchanged' | 'version-exists'; release: Release }
  | { kind: 'not-passed' | 'stale' | 'absent' } {
  return sql.write(() => {
    const record = getDraft(sql, publish.project, publish.id);
    if (record === undefined) return { kind: 'absent' };
    const { draft, passed } = record;
    if (draft.revision !== publish.revision) return { kind: 'stale' };
    // A released draft has what it passed with too.
    if (passed === null) return { kind: 'not-passed' };
    if (!isSame(passed, publish.passed)) return { kind: 'stale' };
    const there = readRelease(sql, draft.project, draft.id, draft.version);
    if (there !== undefined)
      return { kind: there.digest === passed.artifact ? 'unchanged' : 'version-exists', release: there };
    sql.run(
      `INSERT INTO releases (project, id, version, version_key, prerelease, title, digest, revision, image, permissions,
         state, published_by, published_ms, changed_ms)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, 'active', ?11, ?12, ?12)`,
      draft.project,
      draft.id,
      draft.version,
      versionKey(draft.version),
      isPrerelease(draft.version) ? 1 : 0,
      draft.title,
      passed.artifact,
      draft.revision,
      passed.image,
      passed.permissions,
      publish.publishedBy,
      publish.atMs,
    );
    sql.run(
      `UPDATE drafts SET state = 'released', updated_by = ?, updated_ms = ? WHERE project = ? AND id = ?`,
      publish.publishedBy,
      publish.atMs,
      draft.project,
      draft.id,
    );
    appendAudit(sql, event);
    return { kind: 'published', release: written(sql, draft) };
  });
}

export function setReleaseState(
  sql: Statements,
  change: StateChange,
  event: AuditEvent,
): { kind: 'changed' | 'unchanged'; release: Release } | { kind: 'absent' | 'revoked' } {
  if ((change.state === 'active') !== (change.reason === null)) {
    throw new GloveboxError('INTERNAL', {
      message: 'a release is deprecated or revoked with a reason, and active without',
    });
  }
  return sql.write(() => {
    const now = readRelease(sql, change.project, change.id, change.version);
    if (now === undefined) return { kind: 'absent' };
    if (now.state === 'revoked') {
      // What was asked for is so, and the first reason stands.
      return change.state === 'revoked' ? { kind: 'unchanged', release: now } : { kind: 'revoked' };
    }
    if (now.state === change.state && now.reason === change.reason) return { kind: 'unchanged', release: now };
    sql.run(
      'UPDATE releases SET state = ?, reason = ?, changed_ms = ? WHERE project = ? AND id = ? AND version = ?',
      change.state,
      change.reason,
      change.atMs,
      change.project,
      change.id,
      change.version,
    );
    appendAudit(sql, event);
    return { kind: 'changed', release: written(sql, change) };
  });
}

export function setReleaseImage(
  sql: Statements,
  change: ImageChange,
  event: AuditEvent,
): { kind: 'changed'; release: Release } | { kind: 'stale' | 'absent' | 'revoked' } {
  return sql.write(() => {
    const now = readRelease(sql, change.project, change.id, change.version);
    if (now === undefined) return { kind: 'absent' };
    if (now.state === 'revoked') return { kind: 'revoked' };
    if (now.image !== change.from) return { kind: 'stale' };
    sql.run(
      'UPDATE releases SET image = ?, changed_ms = ? WHERE project = ? AND id = ? AND version = ?',
      change.to,
      change.atMs,
      change.project,
      change.id,
      change.version,
    );
    appendAudit(sql, event);
    return { kind: 'changed', release: written(sql, change) };
  });
}

function isSame(one: PassedValidation, other: PassedValidation): boolean {
  return one.artifact === other.artifact && one.image === other.image && one.permissions === other.permissions;
}

function written(sql: Statements, { project, id, version }: { project: string; id: string; version: string }): Release {
  return readRelease(sql, project, id, version) as Release;
}
