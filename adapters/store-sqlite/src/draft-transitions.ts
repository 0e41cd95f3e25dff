import type { AuditEvent, Draft } from '@glovebox/contract';
import { GloveboxError } from '@glovebox/contract/errors';
import type { DraftStore, OwnerRef } from '@glovebox/engine';
import { appendAudit, systemActor } from './audit-chain.ts';
import { type DraftRow, draftOf, readDraftRow, readHeldDraft } from './draft-queries.ts';
import type { Statements } from './statements.ts';

type Put = Parameters<DraftStore['put']>[0];
type Begin = Parameters<DraftStore['beginValidation']>[0];
type End = Parameters<DraftStore['endValidation']>[0];

/** A validation that holds a draft, and who carries it out. */
export interface OpenValidation {
  validation: string;
  owner: OwnerRef;
}

export function putDraft(
  sql: Statements,
  draft: Put,
  event: AuditEvent,
): { kind: 'created' | 'replaced' | 'unchanged'; draft: Draft } | { kind: 'busy' | 'version-released' } {
  return sql.write(() => {
    const now = readDraftRow(sql, draft.project, draft.id);
    if (now?.revision === draft.revision) return { kind: 'unchanged', draft: draftOf(now) };
    // Before `busy`, which passes: this refusal is for good.
    if (isReleasedOtherwise(sql, draft)) return { kind: 'version-released' };
    if (now?.state === 'validating') return { kind: 'busy' };
    sql.run(
      `INSERT INTO drafts (project, id, revision, version, title, snapshot, state, created_by, created_ms, updated_by, updated_ms)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'draft', ?7, ?8, ?7, ?8)
       ON CONFLICT (project, id) DO UPDATE SET revision = excluded.revision, version = excluded.version,
         title = excluded.title, snapshot = excluded.snapshot, state = 'draft', artifact = NULL, image = NULL,
         permissions = NULL, report_json = NULL, updated_by = excluded.updated_by, updated_ms = excluded.updated_ms`,
      draft.project,
      draft.id,
      draft.revision,
      draft.version,
      draft.title,
      draft.snapshot,
      event.actor,
      event.atMs,
    );
    appendAudit(sql, event);
    return {
      kind: now === undefined ? 'created' : 'replaced',
      draft: draftNow(sql, draft),
    };
  });
}

export function beginValidation(
  sql: Statements,
  begin: Begin,
  event: AuditEvent,
): 'begun' | 'busy' | 'stale' | 'released' | 'absent' {
  return sql.write(() => {
    const now = readDraftRow(sql, begin.project, begin.id);
    if (now === undefined) return 'absent';
    if (now.revision !== begin.revision) return 'stale';
    if (now.state === 'released') return 'released';
    if (now.state === 'validating') return 'busy';
    sql.run(
      `UPDATE drafts SET state = 'validating', validation = ?, owner_instance = ?, owner_boot_id = ?, owner_pid = ?,
         owner_start_ticks = ?, artifact = NULL, image = NULL, permissions = NULL, report_json = NULL, updated_by = ?,
         updated_ms = ? WHERE project = ? AND id = ?`,
      begin.validation,
      begin.owner.instance,
      begin.owner.pidSpace,
      begin.owner.pid,
      begin.owner.startTicks,
      event.actor,
      begin.atMs,
      begin.project,
      begin.id,
    );
    appendAudit(sql, event);
    return 'begun';
  });
}

/** Columns of a validation, in an UPDATE that ends it. */
const heldByNobody =
  'validation = NULL, owner_instance = NULL, owner_boot_id = NULL, owner_pid = NULL, owner_start_ticks = NULL';

export function endValidation(
  sql: Statements,
  end: End,
  event: AuditEvent,
): { kind: 'ended'; draft: Draft } | { kind: 'stale' } {
  return sql.write(() => {
    const held = readHeldDraft(sql, end.validation);
    if (held === undefined) return { kind: 'stale' };
    requireReportOf(held, end);
    sql.run(
      `UPDATE drafts SET state = ?, ${heldByNobody}, artifact = ?, image = ?, permissions = ?, report_json = ?,
         updated_by = ?, updated_ms = ? WHERE validation = ?`,
      end.result === null ? 'failed' : 'passed',
      end.result?.artifact ?? null,
      end.result?.image ?? null,
      end.result?.permissions ?? null,
      JSON.stringify(end.report),
      event.actor,
      end.atMs,
      end.validation,
    );
    appendAudit(sql, event);
    return { kind: 'ended', draft: draftNow(sql, held) };
  });
}

export function abandonValidation(
  sql: Statements,
  validation: string,
  event: AuditEvent,
): { kind: 'abandoned'; draft: Draft } | { kind: 'stale' } {
  return sql.write(() => {
    const held = readHeldDraft(sql, validation);
    if (held === undefined) return { kind: 'stale' };
    backToDraft(sql, validation, event);
    return { kind: 'abandoned', draft: draftNow(sql, held) };
  });
}

export function openValidations(sql: Statements): OpenValidation[] {
  return sql
    .all<{
      validation: string;
      owner_instance: string;
      owner_boot_id: string;
      owner_pid: number;
      owner_start_ticks: string;
    }>(
      `SELECT validation, owner_instance, owner_boot_id, owner_pid, owner_start_ticks FROM drafts
       WHERE validation IS NOT NULL ORDER BY project, id`,
    )
    .map((row) => ({
      validation: row.validation,
      owner: {
        instance: row.owner_instance,
        pidSpace: row.owner_boot_id,
        pid: row.owner_pid,
        startTicks: row.owner_start_ticks,
      },
    }));
}

/**
 * Take their drafts from validations whose owners were found dead. One that has ended meanwhile is left alone, and so is one of
 * another owner under the same name: the judgement was about somebody else.
 */
export function recoverValidations(sql: Statements, dead: OpenValidation[], atMs: number): string[] {
  return sql.write(() => {
    const open = new Map(openValidations(sql).map(({ validation, owner }) => [validation, owner]));
    const recovered: string[] = [];
    for (const { validation, owner } of dead) {
      const held = readHeldDraft(sql, validation);
      if (held === undefined || !isSameOwner(open.get(validation), owner)) continue;
      backToDraft(sql, validation, {
        atMs: Math.floor(atMs),
        actor: systemActor,
        project: held.project,
        action: 'draft.validation-abandoned',
        subject: `${held.project}/${held.id}`,
        details: { revision: held.revision, validation, reason: 'its process is gone' },
      });
      recovered.push(`${held.project}/${held.id}`);
    }
    return recovered;
  });
}

/** Of a draft that is there. */
const draftNow = (sql: Statements, { project, id }: { project: string; id: string }): Draft =>
  draftOf(readDraftRow(sql, project, id) as DraftRow);

function backToDraft(sql: Statements, validation: string, event: AuditEvent): void {
  sql.run(
    `UPDATE drafts SET state = 'draft', ${heldByNobody}, updated_by = ?, updated_ms = ? WHERE validation = ?`,
    event.actor,
    event.atMs,
    validation,
  );
  appendAudit(sql, event);
}

function isSameOwner(one: OwnerRef | undefined, other: OwnerRef): boolean {
  return (
    one !== undefined &&
    one.instance === other.instance &&
    one.pidSpace === other.pidSpace &&
    one.pid === other.pid &&
    one.startTicks === other.startTicks
  );
}

function isReleasedOtherwise(sql: Statements, { project, id, version, revision }: Put): boolean {
  return (
    sql.get(
      'SELECT 1 FROM releases WHERE project = ? AND id = ? AND version = ? AND revision <> ?',
      project,
      id,
      version,
      revision,
    ) !== undefined
  );
}

/** A verdict about something else must never become this draft's. */
function requireReportOf(held: DraftRow, { report, result }: End): void {
  const isOfDraft =
    report.project === held.project &&
    report.id === held.id &&
    report.version === held.version &&
    report.revision === held.revision;
  if (!isOfDraft || report.valid !== (result !== null)) {
    throw new GloveboxError('INTERNAL', { message: `the report is not one of ${held.project}/${held.id}` });
  }
}
