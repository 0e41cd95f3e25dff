import type { AttemptState } from '@glovebox/contract';
import type { AttemptEnd } from '@glovebox/engine';
import { migrations } from '../../src/migrations.ts';
import { openDatabase } from '../../src/open-database.ts';
import { type Made, makeEnd, makeRun, owner } from './records.ts';

export interface Version1 {
  queued: Made;
  running: Made;
  ended: Made;
  end: AttemptEnd;
  lost: Made;
}

/** Make a database as the first schema was, and write runs to it in the words of that schema. */
export function makeVersion1(path: string): Version1 {
  const db = openDatabase({ path, busyTimeoutMs: 1000 }, migrations.slice(0, 1));
  const insert = (table: string, row: Record<string, string | number | null>): void => {
    const names = Object.keys(row);
    db.prepare(`INSERT INTO ${table} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`).run(
      ...Object.values(row),
    );
  };
  const write = ({ run, attempt }: Made, states: [AttemptState | null, AttemptState][], end?: AttemptEnd): void => {
    const state = states.at(-1)?.[1] ?? 'QUEUED';
    insert('runs', {
      id: run.id,
      project: run.project,
      mode: run.mode,
      actor: run.actor,
      node_id: run.node.id,
      node_version: run.node.version,
      node_revision: run.node.revision,
      node_title: run.node.title,
      created_ms: run.createdAtMs,
      attempt_id: attempt.id,
      state,
      ended_ms: end?.endedAtMs ?? null,
      error_code: null,
    });
    insert('run_inputs', {
      run_id: run.id,
      input_text: run.inputText,
      config_text: run.configText,
      limits_json: JSON.stringify(run.limits),
      capabilities_json: JSON.stringify(run.capabilities),
    });
    insert('attempts', {
      id: attempt.id,
      run_id: run.id,
      number: 1,
      state,
      owner_instance: owner.instance,
      owner_boot_id: owner.pidSpace,
      owner_pid: owner.pid,
      owner_start_ticks: owner.startTicks,
      created_ms: attempt.createdAtMs,
      started_ms: state === 'QUEUED' ? null : 5,
      ended_ms: end?.endedAtMs ?? null,
    });
    for (const [from, to] of states)
      insert('journal', { at_ms: 5, run_id: run.id, attempt_id: attempt.id, from_state: from, to_state: to });
    insert('logs', { attempt_id: attempt.id, seq: 1, at_ms: 6, source: 'node', level: 'info', message: 'hé' });
    if (end === undefined) return;
    insert('attempt_ends', {
      attempt_id: attempt.id,
      error_json: null,
      output_text: end.outputText,
      bundle_digest: end.bundleDigest,
      image_digest: end.imageDigest,
      phases_json: JSON.stringify(end.phasesMs),
      peaks_json: JSON.stringify(end.peaks),
      log_bytes: end.logBytes,
      log_truncated: 0,
      receipt_text: end.receiptText,
      receipt_digest: end.receiptDigest,
    });
    end.files.forEach((file, position) => {
      insert('files', {
        attempt_id: attempt.id,
        position,
        name: file.name,
        media_type: file.mediaType,
        digest: file.digest,
        size_bytes: file.sizeBytes,
      });
    });
  };

  const made = { queued: makeRun(), running: makeRun(), ended: makeRun(), end: makeEnd(), lost: makeRun() };
  write(made.queued, [[null, 'QUEUED']]);
  write(made.running, [
    [null, 'QUEUED'],
    ['QUEUED', 'RUNNING'],
  ]);
  write(
    made.ended,
    [
      [null, 'QUEUED'],
      ['QUEUED', 'RUNNING'],
      ['RUNNING', 'SUCCEEDED'],
    ],
    made.end,
  );
  write(
    made.lost,
    [
      [null, 'QUEUED'],
      ['QUEUED', 'LOST'],
    ],
    makeEnd({ state: 'LOST', receiptText: null, receiptDigest: null, files: [] }),
  );
  db.close();
  return made;
}
