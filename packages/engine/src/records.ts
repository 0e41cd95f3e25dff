import type {
  AttemptId,
  AttemptState,
  EndState,
  ErrorData,
  FileRecord,
  Json,
  Peaks,
  PhasesMs,
  RunId,
  RunLimits,
} from '@glovebox/contract';

/** One execution of a node (a flow's, later). Immutable but for its attempts. */
export interface RunRecord {
  id: RunId;
  project: string;
  mode: 'trial' | 'release';
  /** What was run by reference; null in a trial. */
  release: { ref: string; digest: string } | null;
  actor: string;
  node: { id: string; version: string; revision: string; title: string };
  createdAtMs: number;
  inputText: string;
  configText: string;
  limits: RunLimits;
  /** The capabilities part of the manifest, as declared. */
  capabilities: Json;
}

/** The process that an attempt belongs to. */
export interface OwnerRef {
  instance: string;
  /** Where `pid` counts: `<boot id>/<inode of the pid namespace>`. */
  pidSpace: string;
  pid: number;
  /** Clock ticks since boot. */
  startTicks: string;
}

export interface Attempt {
  id: AttemptId;
  run: RunId;
  number: number;
  state: AttemptState;
  owner: OwnerRef;
  createdAtMs: number;
  startedAtMs: number | null;
  end: AttemptEnd | null;
}

/** What is known when an attempt has ended. */
export interface AttemptEnd {
  state: EndState;
  endedAtMs: number;
  error: ErrorData | GuestErrorData | null;
  outputText: string | null;
  bundleDigest: string | null;
  imageDigest: string | null;
  phasesMs: PhasesMs;
  peaks: Peaks;
  files: FileRecord[];
  logBytes: number;
  logTruncated: boolean;
  /** The DSSE envelope as JSON text, and sha256 of these bytes. Null when the attempt never had a cell. */
  receiptText: string | null;
  receiptDigest: string | null;
}

/** An error of the node's own: its code is the author's word. */
export interface GuestErrorData {
  code: string;
  message: string;
  hint?: string;
  stack?: string;
  place?: { file?: string; path?: string; line?: number; column?: number };
  retryable?: boolean;
  retryAfterMs?: number;
  details?: Json;
}

export interface RunSummary {
  id: RunId;
  node: { id: string; version: string };
  state: AttemptState;
  createdAtMs: number;
  durationMs: number | null;
  errorCode: string | null;
}

export interface JournalEntry {
  seq: number;
  atMs: number;
  run: string;
  attempt: string | null;
  from: AttemptState | null;
  to: AttemptState;
}
