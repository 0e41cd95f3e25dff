import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Json, type LogRecord, newAttemptId, newInstanceId, newRunId } from '@glovebox/contract';
import type { Attempt, AttemptEnd, RunRecord } from '@glovebox/engine';

const digestOf = (digit: string): string => `sha256:${digit.repeat(64)}`;

export const owner: Attempt['owner'] = {
  instance: newInstanceId(),
  pidSpace: '3b2f0a52-52b6-4a2e-9f0c-000000000000/4026531836',
  pid: 4242,
  startTicks: '123456',
};

export interface Made {
  run: RunRecord;
  attempt: Attempt;
}

export function makeRun(over: Partial<RunRecord> = {}, attemptOwner: Attempt['owner'] = owner): Made {
  const createdAtMs = over.createdAtMs ?? 1_790_000_000_000.25;
  const run: RunRecord = {
    id: newRunId(createdAtMs),
    project: 'default',
    mode: 'trial',
    release: null,
    actor: 'local:uid=0',
    node: { id: 'csv-profile', version: '1.2.3', revision: digestOf('a'), title: 'CSV profile' },
    createdAtMs,
    inputText: '{"rows":[1,2]}',
    configText: '{}',
    limits: {
      cpu: 0.5,
      memoryBytes: 134_217_728,
      pids: 64,
      timeoutMs: 30_000,
      outputBytes: 262_144,
      logBytes: 1_048_576,
      scratchBytes: 1_048_576,
      filesBytes: 0,
      filesCount: 0,
    },
    capabilities: { files: { maxBytes: '1MiB', maxCount: 3 } },
    ...over,
  };
  const attempt: Attempt = {
    id: newAttemptId(createdAtMs),
    run: run.id,
    number: 1,
    state: 'QUEUED',
    owner: attemptOwner,
    createdAtMs,
    startedAtMs: null,
    end: null,
  };
  return { run, attempt };
}

export function makeEnd(over: Partial<AttemptEnd> = {}): AttemptEnd {
  return {
    state: 'SUCCEEDED',
    endedAtMs: 1_790_000_001_234.5,
    error: null,
    outputText: '{"columns":3}',
    bundleDigest: digestOf('b'),
    imageDigest: digestOf('c'),
    phasesMs: { queue: 1.5, boot: 40, load: 2, run: 100, teardown: 9 },
    peaks: { memoryBytes: 33_554_432, pids: null, outputBytes: 13 },
    files: [
      { name: 'b.txt', mediaType: 'text/plain', digest: digestOf('d'), sizeBytes: 5 },
      { name: 'a.txt', mediaType: 'text/plain', digest: digestOf('e'), sizeBytes: 0 },
    ],
    logBytes: 12,
    logTruncated: false,
    receiptText: '{"payload":""}',
    receiptDigest: digestOf('f'),
    ...over,
  };
}

export const makeLog = (message: string, fields?: Json): LogRecord => ({
  atMs: 1_790_000_000_500,
  source: 'node',
  level: 'info',
  message,
  ...(fields === undefined ? {} : { fields }),
});

/** A directory of its own for one test, and how to remove it. */
export function makeDirectory(): { dir: string; remove(): void } {
  const dir = mkdtempSync(join(tmpdir(), 'glovebox-store-'));
  return { dir, remove: () => rmSync(dir, { recursive: true, force: true }) };
}
