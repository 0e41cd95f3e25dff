import type { Release, ReleaseState } from '@glovebox/contract';
import type { ReleaseStore } from '@glovebox/engine';
import type { Statements } from './statements.ts';
import { versionKey } from './version-key.ts';

interface ReleaseRow {
  ref: string;
  project: string;
  id: string;
  version: string;
  title: string;
  digest: string;
  revision: string;
  image: string;
  permissions: string;
  state: ReleaseState;
  reason: string | null;
  published_by: string;
  published_ms: number;
  changed_ms: number;
}

const columns = `ref, project, id, version, title, digest, revision, image, permissions, state, reason, published_by,
  published_ms, changed_ms`;

export function readRelease(sql: Statements, project: string, id: string, version: string): Release | undefined {
  const row = sql.get<ReleaseRow>(
    `SELECT ${columns} FROM releases WHERE project = ? AND id = ? AND version = ?`,
    project,
    id,
    version,
  );
  return row && releaseOf(row);
}

export function readReleaseByRef(sql: Statements, ref: string): Release | undefined {
  const row = sql.get<ReleaseRow>(`SELECT ${columns} FROM releases WHERE ref = ?`, ref);
  return row && releaseOf(row);
}

/** By version or digest in whatever state it is, so that a caller can tell revoked from absent; the newest is never a revoked one. */
export function findRelease(
  sql: Statements,
  project: string,
  id: string,
  select: Parameters<ReleaseStore['find']>[2],
): Release | undefined {
  if (select === 'newest') return newestRelease(sql, project, id);
  if ('version' in select) return readRelease(sql, project, id, select.version);
  const row = sql.get<ReleaseRow>(
    `SELECT ${columns} FROM releases WHERE project = ? AND id = ? AND digest = ?`,
    project,
    id,
    select.digest,
  );
  return row && releaseOf(row);
}

function newestRelease(sql: Statements, project: string, id: string): Release | undefined {
  const row = sql.get<ReleaseRow>(
    `SELECT ${columns} FROM releases WHERE project = ? AND id = ? AND state <> 'revoked'
     ORDER BY prerelease, version_key DESC LIMIT 1`,
    project,
    id,
  );
  return row && releaseOf(row);
}

export function listReleases(sql: Statements, query: Parameters<ReleaseStore['list']>[0]): Release[] {
  const { project, id, after } = query;
  const filters: [clause: string, values: (string | number)[] | undefined][] = [
    ['project = ?', [project]],
    ['id = ?', id === undefined ? undefined : [id]],
    ['(id > ? OR (id = ? AND version_key < ?))', after && [after.id, after.id, versionKey(after.version)]],
  ];
  const used = filters.filter((filter): filter is [string, (string | number)[]] => filter[1] !== undefined);
  return sql
    .all<ReleaseRow>(
      `SELECT ${columns} FROM releases WHERE ${used.map(([clause]) => clause).join(' AND ')}
       ORDER BY id, version_key DESC LIMIT ?`,
      ...used.flatMap(([, values]) => values),
      // A negative limit would mean none to SQLite.
      Math.max(0, Math.trunc(query.limit)),
    )
    .map(releaseOf);
}

function releaseOf(row: ReleaseRow): Release {
  return {
    ref: row.ref,
    project: row.project,
    id: row.id,
    version: row.version,
    title: row.title,
    digest: row.digest,
    revision: row.revision,
    image: row.image,
    permissions: row.permissions,
    state: row.state,
    reason: row.reason,
    publishedBy: row.published_by,
    publishedAt: new Date(row.published_ms).toISOString(),
    changedAt: new Date(row.changed_ms).toISOString(),
  };
}
