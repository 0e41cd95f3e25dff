import type { AttemptId, AttemptState, EndState, FileRecord, LogRecord, RunId } from '@glovebox/contract';
import type { Attempt, AttemptEnd, JournalEntry, RunRecord, RunStore, RunSummary } from '@glovebox/engine';
import type { Statements } from './statements.ts';

type ListQuery = Parameters<RunStore['list']>[0];

/**
 * One page of runs, newest first, read along an index that ends in the id: as quick on the last page as on the first.
 * Exported apart from `listRuns` so that a test can ask SQLite for its plan.
 */
export function listStatement(query: ListQuery): { sql: string; values: (string | number)[] } {
  const filters: [clause: string, value: string | undefined][] = [
    ['project = ?', query.project],
    ['node_id = ?', query.node],
    ['state = ?', query.state],
    ['id < ?', query.before],
  ];
  const used = filters.filter((filter): filter is [string, string] => filter[1] !== undefined);
  return {
    sql: `SELECT id, node_id, node_version, state, created_ms, ended_ms, error_code FROM runs
       WHERE ${used.map(([clause]) => clause).join(' AND ')} ORDER BY id DESC LIMIT ?`,
    // A negative limit would mean none to SQLite.
    values: [...used.map(([, value]) => value), Math.max(0, Math.trunc(query.limit))],
  };
}

export function listRuns(sql: Statements, query: ListQuery): RunSummary[] {
  const statement = listStatement(query);
  return sql
    .all<{
      id: RunId;
      node_id: string;
      node_version: string;
      state: AttemptState;
      created_ms: number;
      ended_ms: number | null;
      error_code: string | null;
    }>(statement.sql, ...statement.values)
    .map((row) => ({
      id: row.id,
      node: { id: row.node_id, version: row.node_version },
      state: row.state,
      createdAtMs: row.created_ms,
      // A clock that was set back must not make a run end before it began.
      durationMs: row.ended_ms === null ? null : Math.max(0, row.ended_ms - row.created_ms),
      errorCode: row.error_code,
    }));
}

interface RunRow {
  project: string;
  mode: RunRecord['mode'];
  release_ref: string | null;
  release_digest: string | null;
  actor: string;
  node_id: string;
  node_version: string;
  node_revision: string;
  node_title: string;
  created_ms: number;
  input_text: string;
  config_text: string;
  limits_json: string;
  capabilities_json: string;
}

export function getRun(
  sql: Statements,
  project: string,
  runId: string,
): { run: RunRecord; attempts: Attempt[] } | undefined {
  return sql.read(() => {
    const row = sql.get<RunRow>(
      `SELECT project, mode, release_ref, release_digest, actor, node_id, node_version, node_revision, node_title,
              created_ms, input_text, config_text, limits_json, capabilities_json
       FROM runs JOIN run_inputs ON run_id = id WHERE id = ? AND project = ?`,
      runId,
      project,
    );
    if (row === undefined) return undefined;
    const run: RunRecord = {
      id: runId as RunId,
      project: row.project,
      mode: row.mode,
      // There together or not at all: the table says so.
      release:
        row.release_ref === null || row.release_digest === null
          ? null
          : { ref: row.release_ref, digest: row.release_digest },
      actor: row.actor,
      node: { id: row.node_id, version: row.node_version, revision: row.node_revision, title: row.node_title },
      createdAtMs: row.created_ms,
      inputText: row.input_text,
      configText: row.config_text,
      limits: JSON.parse(row.limits_json) as RunRecord['limits'],
      capabilities: JSON.parse(row.capabilities_json) as RunRecord['capabilities'],
    };
    return { run, attempts: attemptsOf(sql, runId) };
  });
}

interface AttemptRow {
  id: AttemptId;
  run_id: RunId;
  number: number;
  state: AttemptState;
  owner_instance: string;
  owner_boot_id: string;
  owner_pid: number;
  owner_start_ticks: string;
  created_ms: number;
  started_ms: number | null;
  ended_ms: number | null;
}

interface EndRow {
  error_json: string | null;
  output_text: string | null;
  bundle_digest: string | null;
  image_digest: string | null;
  phases_json: string;
  peaks_json: string;
  log_bytes: number;
  log_truncated: number;
  receipt_text: string | null;
  receipt_digest: string | null;
}

function attemptsOf(sql: Statements, runId: string): Attempt[] {
  return sql
    .all<AttemptRow>(
      `SELECT id, run_id, number, state, owner_instance, owner_boot_id, owner_pid, owner_start_ticks, created_ms, started_ms,
              ended_ms FROM attempts WHERE run_id = ? ORDER BY number`,
      runId,
    )
    .map((row) => ({
      id: row.id,
      run: row.run_id,
      number: row.number,
      state: row.state,
      owner: {
        instance: row.owner_instance,
        pidSpace: row.owner_boot_id,
        pid: row.owner_pid,
        startTicks: row.owner_start_ticks,
      },
      createdAtMs: row.created_ms,
      startedAtMs: row.started_ms,
      end: row.ended_ms === null ? null : endOf(sql, row.id, row.state as EndState, row.ended_ms),
    }));
}

function endOf(sql: Statements, attemptId: string, state: EndState, endedAtMs: number): AttemptEnd | null {
  const row = sql.get<EndRow>(
    `SELECT error_json, output_text, bundle_digest, image_digest, phases_json, peaks_json, log_bytes, log_truncated,
            receipt_text, receipt_digest FROM attempt_ends WHERE attempt_id = ?`,
    attemptId,
  );
  if (row === undefined) return null;
  return {
    state,
    endedAtMs,
    error: row.error_json === null ? null : (JSON.parse(row.error_json) as AttemptEnd['error']),
    outputText: row.output_text,
    bundleDigest: row.bundle_digest,
    imageDigest: row.image_digest,
    phasesMs: JSON.parse(row.phases_json) as AttemptEnd['phasesMs'],
    peaks: JSON.parse(row.peaks_json) as AttemptEnd['peaks'],
    files: filesOf(sql, attemptId),
    logBytes: row.log_bytes,
    logTruncated: row.log_truncated === 1,
    receiptText: row.receipt_text,
    receiptDigest: row.receipt_digest,
  };
}

function filesOf(sql: Statements, attemptId: string): FileRecord[] {
  return sql
    .all<{ name: string; media_type: string; digest: string; size_bytes: number }>(
      'SELECT name, media_type, digest, size_bytes FROM files WHERE attempt_id = ? ORDER BY position',
      attemptId,
    )
    .map((row) => ({ name: row.name, mediaType: row.media_type, digest: row.digest, sizeBytes: row.size_bytes }));
}

export function readLogs(
  sql: Statements,
  attemptId: string,
  after = 0,
  limit?: number,
): (LogRecord & { seq: number })[] {
  return sql
    .all<{
      seq: number;
      at_ms: number;
      source: LogRecord['source'];
      level: LogRecord['level'];
      message: string;
      fields_json: string | null;
    }>(
      `SELECT seq, at_ms, source, level, message, fields_json FROM logs
       WHERE attempt_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
      attemptId,
      after,
      // To SQLite a negative limit is none.
      limit === undefined ? -1 : Math.max(0, Math.trunc(limit)),
    )
    .map((row) => ({
      seq: row.seq,
      atMs: row.at_ms,
      source: row.source,
      level: row.level,
      message: row.message,
      ...(row.fields_json === null ? {} : { fields: JSON.parse(row.fields_json) as NonNullable<LogRecord['fields']> }),
    }));
}

export function readJournal(sql: Statements, runId: string): JournalEntry[] {
  return sql
    .all<JournalEntry>(
      `SELECT seq, at_ms AS atMs, run_id AS run, attempt_id AS attempt, from_state AS "from", to_state AS "to"
     FROM journal WHERE run_id = ? ORDER BY seq`,
      runId,
    )
    .map((row) => ({ ...row }));
}
