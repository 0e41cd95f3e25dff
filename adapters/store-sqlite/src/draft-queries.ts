import type { Draft, DraftState, Report } from '@glovebox/contract';
import type { DraftRecord, DraftStore } from '@glovebox/engine';
import type { Statements } from './statements.ts';

export interface DraftRow {
  project: string;
  id: string;
  revision: string;
  version: string;
  title: string;
  state: DraftState;
  artifact: string | null;
  created_by: string;
  created_ms: number;
  updated_by: string;
  updated_ms: number;
}

const columns =
  'project, id, revision, version, title, state, artifact, created_by, created_ms, updated_by, updated_ms';

export function readDraftRow(sql: Statements, project: string, id: string): DraftRow | undefined {
  return sql.get<DraftRow>(`SELECT ${columns} FROM drafts WHERE project = ? AND id = ?`, project, id);
}

/** The draft that this validation holds. */
export function readHeldDraft(sql: Statements, validation: string): DraftRow | undefined {
  return sql.get<DraftRow>(`SELECT ${columns} FROM drafts WHERE validation = ?`, validation);
}

export function draftOf(row: DraftRow): Draft {
  return {
    project: row.project,
    id: row.id,
    revision: row.revision,
    version: row.version,
    title: row.title,
    state: row.state,
    createdBy: row.created_by,
    createdAt: new Date(row.created_ms).toISOString(),
    updatedBy: row.updated_by,
    updatedAt: new Date(row.updated_ms).toISOString(),
    artifact: row.artifact,
  };
}

export function getDraft(sql: Statements, project: string, id: string): DraftRecord | undefined {
  const row = sql.get<
    DraftRow & { snapshot: string; report_json: string | null; image: string | null; permissions: string | null }
  >(
    `SELECT ${columns}, snapshot, image, permissions, report_json FROM drafts WHERE project = ? AND id = ?`,
    project,
    id,
  );
  if (row === undefined) return undefined;
  const { artifact, image, permissions } = row;
  return {
    draft: draftOf(row),
    snapshot: row.snapshot,
    report: row.report_json === null ? null : (JSON.parse(row.report_json) as Report),
    // The three are there together or not at all: the table says so.
    passed: artifact === null || image === null || permissions === null ? null : { artifact, image, permissions },
  };
}

export function listDrafts(sql: Statements, query: Parameters<DraftStore['list']>[0]): Draft[] {
  return sql
    .all<DraftRow>(
      `SELECT ${columns} FROM drafts WHERE project = ? AND id > ? ORDER BY id LIMIT ?`,
      query.project,
      query.after ?? '',
      // A negative limit would mean none to SQLite.
      Math.max(0, Math.trunc(query.limit)),
    )
    .map(draftOf);
}
