import {
  type ErrorData,
  type FileRecord,
  GloveboxError,
  type Peaks,
  type PhasesMs,
  type ReceiptStatement,
  type RunLimits,
} from '@glovebox/contract';
import { canonicalJson } from './canonical.ts';
import { sha256Of } from './digest.ts';

/** What the store has of an attempt, for comparison. Texts as stored; digests as `sha256:` and hex. */
export interface RecordedAttempt {
  run: string;
  attempt: string;
  state: string;
  mode: string;
  project: string;
  actor: string;
  /** What was run by reference; null in a trial. */
  release: { ref: string; digest: string } | null;
  node: { id: string; version: string; revision: string };
  bundleDigest: string | null;
  imageDigest: string | null;
  inputText: string;
  configText: string;
  outputText: string | null;
  /** Of all log records, as the host that wrote the receipt computes it. */
  logDigest: string;
  logBytes: number;
  limits: RunLimits;
  phasesMs: PhasesMs;
  peaks: Peaks;
  files: readonly FileRecord[];
}

/**
 * Hold a verified receipt against the record of its attempt.
 *
 * @returns undefined when they agree; else `RECEIPT_MISMATCH`, whose `details.differs` names every part that does not.
 */
export function compareReceipt(statement: ReceiptStatement, record: RecordedAttempt): ErrorData | undefined {
  const { run, attempt, project, actor, mode, node, observed, claimed } = statement.predicate;
  const state = isClaimed(record.state, observed.state, claimed.errorCode) ? record.state : observed.state;
  const parts: [name: string, receipt: unknown, record: unknown][] = [
    ['run', run, record.run],
    ['attempt', attempt, record.attempt],
    ['state', state, record.state],
    ['actor', [project, actor], [record.project, record.actor]],
    ['node', [node.id, node.version, node.revision], [record.node.id, record.node.version, record.node.revision]],
    ['release', [mode, node.release], [record.mode, record.release]],
    ['bundle', node.bundle, record.bundleDigest],
    ['image', observed.image, record.imageDigest],
    ['input', observed.inputDigest, sha256Of(record.inputText)],
    ['config', observed.configDigest, sha256Of(record.configText)],
    ['output', observed.outputDigest, record.outputText === null ? null : sha256Of(record.outputText)],
    ['logs', [observed.logDigest, observed.logBytes], [record.logDigest, record.logBytes]],
    ['limits', observed.limits, record.limits],
    ['phases', observed.phasesMs, record.phasesMs],
    ['peaks', observed.peaks, record.peaks],
    ['files', observed.files.map(fileFacts), record.files.map(fileFacts)],
  ];
  const differs = parts.filter(([, a, b]) => canonicalJson(a) !== canonicalJson(b)).map(([name]) => name);
  if (differs.length === 0) return undefined;
  return new GloveboxError('RECEIPT_MISMATCH', {
    message: `The record differs from the receipt in: ${differs.join(', ')}.`,
    details: { differs },
  }).toData();
}

/** States that an attempt has by the cell's own word. */
const claimedStates = ['OUT_OF_MEMORY', 'OUTPUT_TOO_LARGE', 'SCRATCH_FULL'];

/** Whether a record's state is what the cell says of how it failed: the host saw only that it did. */
function isClaimed(state: string, observed: string, claimedCode: string | null): boolean {
  return (observed === 'FAILED' || observed === 'CRASHED') && claimedCode === state && claimedStates.includes(state);
}

const fileFacts = ({ name, mediaType, digest, sizeBytes }: FileRecord): unknown => [name, mediaType, digest, sizeBytes];
