import type { CellEnd } from '@glovebox/cell';
import { type EndState, type ErrorCode, type ErrorData, errorCatalogue, errorCodes } from '@glovebox/contract';
import type { GuestErrorData } from '../records.ts';
import type { CellResult, Violation } from './control-plane.ts';

export interface Evidence {
  violation: Violation | undefined;
  result: CellResult | undefined;
  cancelled: string | undefined;
  end: CellEnd;
  stderrTail: string;
  timeoutMs: number;
}

export interface Outcome {
  state: EndState;
  error: ErrorData | GuestErrorData | null;
  /** Whether `error`, and the name of `state` with it, is what the cell says of itself. */
  claimed: boolean;
  /** How it ended without the cell's word: what a receipt may have under `observed`. */
  observed: { state: EndState; errorCode: string | null };
  outputText: string | null;
}

/** Codes that a guest may use for an error of its own; any other code of the catalogue in its mouth is not believed. */
const guestCodes: ReadonlySet<string> = new Set<ErrorCode>([
  'NODE_FAILED',
  'NODE_LOAD_FAILED',
  'NODE_NOT_A_HANDLER',
  'NODE_EXITED',
  'NODE_NEVER_SETTLED',
  'OUTPUT_NOT_JSON',
  'OUTPUT_TOO_LARGE',
  'SCRATCH_FULL',
  'FILES_LIMIT',
  'FILES_NOT_DECLARED',
  'FILE_NAME_REFUSED',
  'NOT_AVAILABLE_YET',
  'EGRESS_DENIED',
  'EGRESS_BUDGET',
  'EGRESS_FAILED',
  'EGRESS_TIMED_OUT',
  'CELL_HTTP_ONLY',
  'CASSETTE_MISS',
]);

const violationStates: Partial<Record<ErrorCode, EndState>> = {
  CHANNEL_ABUSE: 'CHANNEL_ABUSE',
  CHANNEL_CORRUPTED: 'CHANNEL_CORRUPTED',
  OUTPUT_TOO_LARGE: 'OUTPUT_TOO_LARGE',
  LOG_FLOOD: 'LOG_FLOOD',
};

/**
 * How an attempt ended, from what the host saw, strongest evidence first: a cell that is not gone, a broken rule, a
 * cancellation, a result that came in time, the kernel's word on memory, the deadline.
 */
export function decideOutcome(evidence: Evidence): Outcome {
  const { violation, result, cancelled, end } = evidence;
  // What may still run, and go on doing so under the name of this attempt, has given no result. Fails closed.
  if (end.error !== undefined) return ended('LOST', 'CELL_LOST', end.error.message.replace(/\.$/, ''));
  if (violation) {
    return ended(violationStates[violation.code] ?? 'FAILED', violation.code, violation.detail);
  }
  if (cancelled !== undefined) return ended('CANCELLED', 'CANCELLED', cancelled);
  if (result) return fromResult(result, end);
  switch (end.cause) {
    case 'oom':
      return ended('OUT_OF_MEMORY', 'OUT_OF_MEMORY');
    case 'deadline':
    case 'lifetime':
      return ended('TIMED_OUT', 'TIMED_OUT', `no result within ${evidence.timeoutMs} ms`);
    case 'self':
      return fromExit(evidence);
    default:
      return ended('LOST', 'CELL_LOST');
  }
}

function fromResult(result: CellResult, end: CellEnd): Outcome {
  if (result.kind === 'output') {
    const observed = { state: 'SUCCEEDED', errorCode: null } as const;
    return { state: 'SUCCEEDED', error: null, claimed: false, observed, outputText: result.text };
  }
  const claimed = result.error;
  const known = guestCodes.has(claimed.code);
  const foreign = !known && (errorCodes as string[]).includes(claimed.code);
  const code = foreign ? 'NODE_FAILED' : claimed.code;
  const error: GuestErrorData = {
    code,
    message: claimed.message,
    ...(known ? { hint: errorCatalogue[code as ErrorCode].hint } : {}),
    ...(claimed.stack === undefined ? {} : { stack: claimed.stack }),
    ...(claimed.place === undefined ? {} : { place: { path: claimed.place } }),
    ...(claimed.retryable === undefined ? {} : { retryable: claimed.retryable }),
    ...(claimed.retryAfterMs === undefined ? {} : { retryAfterMs: claimed.retryAfterMs }),
    ...(claimed.details === undefined ? {} : { details: claimed.details }),
  };
  if (end.pidsLimitHit)
    return {
      state: 'PIDS_EXCEEDED',
      error: { ...error, code: 'PIDS_EXCEEDED', hint: errorCatalogue.PIDS_EXCEEDED.hint },
      claimed: false,
      observed: { state: 'PIDS_EXCEEDED', errorCode: 'PIDS_EXCEEDED' },
      outputText: null,
    };
  const state = code === 'SCRATCH_FULL' || code === 'OUTPUT_TOO_LARGE' ? code : 'FAILED';
  const observed = { state: 'FAILED', errorCode: 'NODE_FAILED' } as const;
  return { state, error, claimed: true, observed, outputText: null };
}

function fromExit({ end, stderrTail }: Evidence): Outcome {
  if (end.pidsLimitHit) return ended('PIDS_EXCEEDED', 'PIDS_EXCEEDED');
  const crash = crashOf(end);
  // V8 gives up before the kernel does where its own heap limit is the tighter one; its last words are the only sign. Any
  // node can write them and die, so they are a claim.
  if (
    /heap out of memory|Array buffer allocation failed/.test(stderrTail) &&
    (end.exit.code !== 0 || end.exit.signal !== null)
  ) {
    return {
      ...ended('OUT_OF_MEMORY', 'OUT_OF_MEMORY', 'the JavaScript heap is full'),
      claimed: true,
      observed: crash.observed,
    };
  }
  return crash;
}

function crashOf({ exit }: CellEnd): Outcome {
  const signal = exit.signal ?? (exit.code !== null && exit.code > 128 ? `signal ${exit.code - 128}` : null);
  if (signal !== null) return ended('CRASHED', 'NODE_CRASHED', `the process died by ${signal}`);
  return ended('CRASHED', 'NODE_EXITED', `the process exited with code ${exit.code ?? 'unknown'} before a result`);
}

function ended(state: EndState, code: ErrorCode, detail?: string): Outcome {
  const entry = errorCatalogue[code];
  const message = detail === undefined ? entry.summary : `${entry.summary.replace(/\.$/, '')}: ${detail}.`;
  return {
    state,
    error: { code, message, hint: entry.hint },
    claimed: false,
    observed: { state, errorCode: code },
    outputText: null,
  };
}
