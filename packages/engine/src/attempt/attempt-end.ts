import { type ErrorData, GloveboxError, type PhasesMs } from '@glovebox/contract';
import type { AttemptEnd } from '../records.ts';
import type { AttemptReport } from './run-attempt.ts';

/** The end of an attempt that had a cell. */
export function endOf(
  report: AttemptReport,
  known: {
    bundleDigest: string;
    imageDigest: string;
    phasesMs: PhasesMs;
    receipt: { envelopeText: string; digest: string };
  },
): AttemptEnd {
  return {
    state: report.state,
    endedAtMs: report.endedAtMs,
    error: report.error,
    outputText: report.outputText,
    bundleDigest: known.bundleDigest,
    imageDigest: known.imageDigest,
    phasesMs: known.phasesMs,
    peaks: report.peaks,
    files: report.files,
    logBytes: report.logBytes,
    logTruncated: report.logTruncated,
    receiptText: known.receipt.envelopeText,
    receiptDigest: known.receipt.digest,
  };
}

/** The end of an attempt that failed on the host's side: there is no receipt, for nothing was seen that it could tell. */
export function neverRan(error: unknown, endedAtMs: number, queueMs: number): AttemptEnd {
  const data: ErrorData =
    error instanceof GloveboxError ? error.toData() : { code: 'INTERNAL', message: String(error) };
  return {
    state: 'LOST',
    endedAtMs,
    error: data,
    outputText: null,
    bundleDigest: null,
    imageDigest: null,
    phasesMs: { queue: queueMs, boot: 0, load: 0, run: 0, teardown: 0 },
    peaks: { memoryBytes: null, pids: null, outputBytes: 0 },
    files: [],
    logBytes: 0,
    logTruncated: false,
    receiptText: null,
    receiptDigest: null,
  };
}
