import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createBlobStore } from '@glovebox/blobs-fs';
import {
  defaultEgressPolicy,
  type Job,
  type LogRecord,
  newAttemptId,
  newRunId,
  type Progress,
} from '@glovebox/contract';
import { createEgress } from '@glovebox/egress';
import { type AttemptReport, runAttempt } from '@glovebox/engine';
import { HostileDriver } from './driver.ts';

export interface HostileOptions {
  limits?: Partial<Job['limits']>;
  timeoutMs?: number;
  /** Abort with this reason once the cell has said so many log records. */
  cancel?: { afterRecords: number; reason: string };
  bundle?: Uint8Array;
  /** How long its remains take to be removed once it is dead. */
  teardownMs?: number;
}

export interface HostileRun {
  report: AttemptReport;
  driver: HostileDriver;
  logs: LogRecord[];
  progress: Progress[];
  /** Records of the log in that turn of the event loop which had most. */
  mostLogsInATurn: number;
  /** Files that were begun on the host's disk. */
  uploads: number;
  /** What is left of files being written, at the moment in which the attempt is over. */
  leftovers: string[];
  /** By how much the peak of this process's memory grew. */
  grownBytes: number;
}

/** Its nodes declare nothing, so nobody ever asks for a connection. */
const noEgress = createEgress({
  scope: () => {
    throw new Error('nothing is declared');
  },
});

const peakBytes = (): number => process.resourceUsage().maxRSS * 1024;

/** One attempt of the product on a hostile cell, with real files. */
export async function runHostile(
  scenario: string,
  args: readonly (string | number)[] = [],
  options: HostileOptions = {},
): Promise<HostileRun> {
  const dir = mkdtempSync(join(tmpdir(), 'hostile-cell-'));
  const driver = new HostileDriver(scenario, ...args);
  driver.teardownMs = options.teardownMs ?? 0;
  const blobs = createBlobStore(join(dir, 'blobs'));
  const seen = { logs: [] as LogRecord[], progress: [] as Progress[], uploads: 0, most: 0, inTurn: 0 };
  const cancellation = new AbortController();
  const bundle = options.bundle ?? Buffer.from('export default 1;');
  const before = peakBytes();
  try {
    const report = await runAttempt(
      {
        // The driver of these tests looks at no plan.
        plan: {} as never,
        bundle,
        egress: { grant: undefined, policy: defaultEgressPolicy, record: async () => undefined },
        cpu: 1,
        timeoutMs: options.timeoutMs ?? 30_000,
        job: {
          ids: { project: 'default', run: newRunId(), attempt: newAttemptId(), node: 'hostile', correlation: 'c' },
          nowMs: 0,
          timeoutMs: 0,
          bundle: { digest: `sha256:${'0'.repeat(64)}`, sizeBytes: bundle.byteLength },
          limits: {
            outputBytes: 256 * 1024,
            logBytes: 1024 * 1024,
            filesBytes: 1024 * 1024,
            filesCount: 50,
            scratchBytes: 0,
            ...options.limits,
          },
          http: false,
          idempotencyKey: 'k',
          input: null,
          config: null,
        },
      },
      {
        driver,
        blobs: {
          ...blobs,
          put: (source, maxBytes) => {
            seen.uploads++;
            return blobs.put(source, maxBytes);
          },
        },
        now: Date.now,
        egress: noEgress,
        monotonicMs: () => performance.now(),
        bootMs: () => performance.now(),
      },
      {
        onLog: (record) => {
          seen.logs.push(record);
          if (seen.inTurn++ === 0) {
            setImmediate(() => {
              seen.most = Math.max(seen.most, seen.inTurn);
              seen.inTurn = 0;
            });
          }
          if (seen.logs.length === options.cancel?.afterRecords) cancellation.abort(options.cancel.reason);
        },
        onProgress: (progress) => seen.progress.push(progress),
      },
      cancellation.signal,
    );
    const leftovers = listStaging(dir);
    return {
      report,
      driver,
      logs: seen.logs,
      progress: seen.progress,
      mostLogsInATurn: seen.most,
      uploads: seen.uploads,
      leftovers,
      grownBytes: peakBytes() - before,
    };
  } finally {
    driver.child?.kill('SIGKILL');
    rmSync(dir, { recursive: true, force: true });
  }
}

function listStaging(dir: string): string[] {
  try {
    return readdirSync(join(dir, 'blobs', 'staging'));
  } catch {
    // Nothing was ever stored.
    return [];
  }
}
