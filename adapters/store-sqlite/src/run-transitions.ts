import type { AttemptState, EndState, ErrorData, LogRecord } from '@glovebox/contract';
import { GloveboxError } from '@glovebox/contract/errors';
import type { Attempt, AttemptEnd, RunRecord } from '@glovebox/engine';
import { systemActor } from './audit-chain.ts';
import { auditEnd } from './audit-end.ts';
import { readReleaseByRef } from './release-queries.ts';
import type { Statements } from './statements.ts';

export interface OpenAttempt {
  id: string;
  owner: Attempt['owner'];
}

type Move = { run: string; attempt: string; from: AttemptState | null; to: AttemptState; atMs: number };

export function createRun(sql: Statements, run: RunRecord, attempt: Attempt): void {
  if (attempt.run !== run.id || attempt.state !== 'QUEUED' || attempt.end !== null) {
    throw new GloveboxError('INTERNAL', { message: `attempt ${attempt.id} is not a fresh one of run ${run.id}` });
  }
  sql.write(() => {
    refuseUnreleased(sql, run);
    // By a rule of the tables it would be refused as a defect.
    if (standing(sql, attempt.id) !== undefined)
      throw new GloveboxError('ALREADY_EXISTS', { message: `There is an attempt ${attempt.id}.` });
    sql.run(
      `INSERT INTO runs (id, project, mode, release_ref, release_digest, actor, node_id, node_version, node_revision,
         node_title, created_ms, attempt_id, state)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'QUEUED')`,
      run.id,
      run.project,
      run.mode,
      run.release?.ref ?? null,
      run.release?.digest ?? null,
      run.actor,
      run.node.id,
      run.node.version,
      run.node.revision,
      run.node.title,
      run.createdAtMs,
      attempt.id,
    );
    sql.run(
      'INSERT INTO run_inputs (run_id, input_text, config_text, limits_json, capabilities_json) VALUES (?, ?, ?, ?, ?)',
      run.id,
      run.inputText,
      run.configText,
      JSON.stringify(run.limits),
      JSON.stringify(run.capabilities),
    );
    const { owner } = attempt;
    sql.run(
      `INSERT INTO attempts (id, run_id, number, state, owner_instance, owner_boot_id, owner_pid, owner_start_ticks, created_ms)
       VALUES (?, ?, ?, 'QUEUED', ?, ?, ?, ?, ?)`,
      attempt.id,
      run.id,
      attempt.number,
      owner.instance,
      owner.pidSpace,
      owner.pid,
      owner.startTicks,
      attempt.createdAtMs,
    );
    record(sql, { run: run.id, attempt: attempt.id, from: null, to: 'QUEUED', atMs: attempt.createdAtMs });
  });
}

export function beginAttempt(sql: Statements, attemptId: string, startedAtMs: number): 'begun' | 'stale' {
  return sql.write(() => {
    const now = standing(sql, attemptId);
    if (now?.state !== 'QUEUED') return 'stale';
    sql.run(`UPDATE attempts SET state = 'RUNNING', started_ms = ? WHERE id = ?`, startedAtMs, attemptId);
    sql.run(`UPDATE runs SET state = 'RUNNING' WHERE id = ? AND attempt_id = ?`, now.run, attemptId);
    record(sql, { run: now.run, attempt: attemptId, from: 'QUEUED', to: 'RUNNING', atMs: startedAtMs });
    return 'begun';
  });
}

export function finishAttempt(sql: Statements, attemptId: string, end: AttemptEnd): 'finished' | 'stale' {
  return sql.write(() => {
    const now = standing(sql, attemptId);
    if (now === undefined || !isOpen(now.state)) return 'stale';
    endAttempt(sql, { attemptId, run: now.run, from: now.state, end });
    auditEnd(sql, { attempt: attemptId, run: now.run, ...end });
    return 'finished';
  });
}

/** Reads the index of open attempts, however many there were. Exported so that a test can ask SQLite for its plan. */
export const openAttemptsSql = `SELECT id, owner_instance, owner_boot_id, owner_pid, owner_start_ticks FROM attempts
  WHERE state IN ('QUEUED', 'RUNNING') ORDER BY id`;

export function openAttempts(sql: Statements): OpenAttempt[] {
  return sql
    .all<{ id: string; owner_instance: string; owner_boot_id: string; owner_pid: number; owner_start_ticks: string }>(
      openAttemptsSql,
    )
    .map((row) => ({
      id: row.id,
      owner: {
        instance: row.owner_instance,
        pidSpace: row.owner_boot_id,
        pid: row.owner_pid,
        startTicks: row.owner_start_ticks,
      },
    }));
}

export function loseAttempts(sql: Statements, attemptIds: string[], atMs: number): string[] {
  if (attemptIds.length === 0) return [];
  return sql.write(() => {
    const lost: string[] = [];
    for (const attemptId of attemptIds) {
      const now = standing(sql, attemptId);
      if (now === undefined || !isOpen(now.state)) continue;
      const end = lostEnd(sql, attemptId, atMs);
      endAttempt(sql, { attemptId, run: now.run, from: now.state, end });
      auditEnd(sql, { attempt: attemptId, run: now.run, ...end, actor: systemActor });
      lost.push(attemptId);
    }
    return lost;
  });
}

/** An attempt that has ended takes no more: its receipt has the digest of what there was. */
export function appendLogs(sql: Statements, attemptId: string, records: LogRecord[]): void {
  if (records.length === 0) return;
  sql.write(() => {
    const now = standing(sql, attemptId);
    if (now === undefined) throw new GloveboxError('NOT_FOUND', { message: `there is no attempt ${attemptId}` });
    if (!isOpen(now.state)) return;
    let seq =
      sql.get<{ last: number }>('SELECT coalesce(max(seq), 0) AS last FROM logs WHERE attempt_id = ?', attemptId)
        ?.last ?? 0;
    for (const { atMs, source, level, message, fields } of records) {
      sql.run(
        'INSERT INTO logs (attempt_id, seq, at_ms, source, level, message, fields_json) VALUES (?, ?, ?, ?, ?, ?, ?)',
        attemptId,
        ++seq,
        atMs,
        source,
        level,
        message,
        fields === undefined ? null : JSON.stringify(fields),
      );
    }
  });
}

function endAttempt(
  sql: Statements,
  { attemptId, run, from, end }: { attemptId: string; run: string; from: AttemptState; end: AttemptEnd },
): void {
  sql.run('UPDATE attempts SET state = ?, ended_ms = ? WHERE id = ?', end.state, end.endedAtMs, attemptId);
  sql.run(
    `INSERT INTO attempt_ends (attempt_id, error_json, output_text, bundle_digest, image_digest, phases_json, peaks_json,
       log_bytes, log_truncated, receipt_text, receipt_digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    attemptId,
    end.error === null ? null : JSON.stringify(end.error),
    end.outputText,
    end.bundleDigest,
    end.imageDigest,
    JSON.stringify(end.phasesMs),
    JSON.stringify(end.peaks),
    end.logBytes,
    end.logTruncated ? 1 : 0,
    end.receiptText,
    end.receiptDigest,
  );
  end.files.forEach((file, position) => {
    sql.run(
      'INSERT INTO files (attempt_id, position, name, media_type, digest, size_bytes) VALUES (?, ?, ?, ?, ?, ?)',
      attemptId,
      position,
      file.name,
      file.mediaType,
      file.digest,
      file.sizeBytes,
    );
  });
  sql.run(
    'UPDATE runs SET state = ?, ended_ms = ?, error_code = ? WHERE id = ? AND attempt_id = ?',
    end.state,
    end.endedAtMs,
    end.error?.code ?? null,
    run,
    attemptId,
  );
  record(sql, { run, attempt: attemptId, from, to: end.state, atMs: end.endedAtMs });
}

/**
 * A run of a release is one of what was released, and of nothing that is revoked at this moment: what its caller has looked at
 * may have been revoked since.
 */
function refuseUnreleased(sql: Statements, { project, node, mode, release }: RunRecord): void {
  if ((mode === 'release') !== (release !== null)) {
    throw new GloveboxError('INTERNAL', {
      message: `a run in mode ${mode} ${release ? 'has a' : 'lacks its'} release`,
    });
  }
  if (release === null) return;
  const found = readReleaseByRef(sql, release.ref);
  if (found === undefined) throw new GloveboxError('NOT_FOUND', { message: `There is no release ${release.ref}.` });
  const isOfIt =
    found.digest === release.digest &&
    found.project === project &&
    found.id === node.id &&
    found.version === node.version &&
    found.revision === node.revision;
  if (!isOfIt)
    throw new GloveboxError('INTERNAL', { message: `the run is not one of ${release.ref} as it was released` });
  if (found.state === 'revoked') {
    throw new GloveboxError('RELEASE_REVOKED', {
      message: `${found.ref} is revoked: ${found.reason ?? 'no reason is recorded'}`,
      details: { ref: found.ref, reason: found.reason, revokedAt: found.changedAt },
    });
  }
}

function lostEnd(sql: Statements, attemptId: string, endedAtMs: number): AttemptEnd {
  const error: ErrorData = new GloveboxError('CELL_LOST', {
    message: 'The process that ran the attempt is gone.',
  }).toData();
  const logs = sql.get<{ bytes: number }>(
    'SELECT coalesce(sum(octet_length(message)), 0) AS bytes FROM logs WHERE attempt_id = ?',
    attemptId,
  );
  return {
    state: 'LOST' satisfies EndState,
    endedAtMs,
    error,
    outputText: null,
    bundleDigest: null,
    imageDigest: null,
    phasesMs: { queue: 0, boot: 0, load: 0, run: 0, teardown: 0 },
    peaks: { memoryBytes: null, pids: null, outputBytes: 0 },
    files: [],
    logBytes: logs?.bytes ?? 0,
    // What the dead process had not yet written is gone.
    logTruncated: true,
    receiptText: null,
    receiptDigest: null,
  };
}

const isOpen = (state: AttemptState): boolean => state === 'QUEUED' || state === 'RUNNING';

function standing(sql: Statements, attemptId: string): { run: string; state: AttemptState } | undefined {
  return sql.get('SELECT run_id AS run, state FROM attempts WHERE id = ?', attemptId);
}

function record(sql: Statements, move: Move): void {
  sql.run(
    'INSERT INTO journal (at_ms, run_id, attempt_id, from_state, to_state) VALUES (?, ?, ?, ?, ?)',
    move.atMs,
    move.run,
    move.attempt,
    move.from,
    move.to,
  );
}
