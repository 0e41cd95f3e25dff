import {
  type CheckId,
  type CheckResult,
  type CheckState,
  checkIds,
  errorCatalogue,
  type Finding,
  GloveboxError,
  type ReportFinding,
  toReportFinding,
} from '@glovebox/contract';
import type { CheckOutcome } from './outcome.ts';

/** What a validation tells while it goes on: each check starts once and ends once; one that is skipped only ends. */
export type CheckEvent =
  | { kind: 'started'; check: CheckId }
  | { kind: 'ended'; result: CheckResult; findings: ReportFinding[] };

/** How a check ended. */
export type CheckEnd = Omit<CheckOutcome, 'state'> & { state: CheckState; cached?: boolean };

/** The checks of one validation: which have started, how each ended, and all that they found. */
export class Checklist {
  readonly #onEvent: (event: CheckEvent) => void;
  readonly #now: () => number;
  readonly #signal: AbortSignal | undefined;
  readonly #startedAt = new Map<CheckId, number>();
  readonly #ended = new Map<CheckId, { result: CheckResult; findings: ReportFinding[] }>();

  /** @param now milliseconds of a clock that never jumps. */
  constructor(now: () => number, onEvent: (event: CheckEvent) => void, signal: AbortSignal | undefined) {
    this.#now = now;
    this.#onEvent = onEvent;
    this.#signal = signal;
  }

  start(check: CheckId): void {
    this.#startedAt.set(check, this.#now());
    this.#onEvent({ kind: 'started', check });
  }

  end(check: CheckId, { state, findings, facts, cached = false }: CheckEnd): void {
    const startedAt = this.#startedAt.get(check) ?? this.#now();
    const durationMs = Math.round((this.#now() - startedAt) * 100) / 100;
    const reported = findings.map((finding) => toReportFinding(check, finding));
    const result = { id: check, state, durationMs, cached, findings: findings.length, facts };
    this.#ended.set(check, { result, findings: reported });
    this.#onEvent({ kind: 'ended', result, findings: reported });
  }

  /** For a check of which one that it builds on has not passed. */
  skip(check: CheckId): void {
    this.end(check, { state: this.#signal?.aborted ? 'cancelled' : 'skipped', findings: [], facts: {} });
  }

  /**
   * Start a check and end it as `body` says, or by what it throws: what the host or the registry could not do makes it
   * `unavailable`, an aborted signal `cancelled`, and what is the package's fault `failed`. @throws our own defects.
   */
  async perform(check: CheckId, body: () => Promise<CheckEnd>): Promise<CheckState> {
    this.start(check);
    const end = await this.settle(body);
    this.end(check, end);
    return end.state;
  }

  /** What `body` gives, or what its error comes to; see perform. */
  async settle(body: () => Promise<CheckEnd>): Promise<CheckEnd> {
    try {
      this.#signal?.throwIfAborted();
      return await body();
    } catch (error) {
      return this.explain(error);
    }
  }

  explain(error: unknown): CheckEnd {
    // Whatever broke while all was being stopped broke because of it.
    if (this.#signal?.aborted) return { state: 'cancelled', findings: [], facts: {} };
    if (!(error instanceof GloveboxError)) throw error;
    const { kind } = errorCatalogue[error.code];
    if (kind === 'defect') throw error;
    const state = kind === 'host' || kind === 'retry' ? 'unavailable' : 'failed';
    return { state, findings: [errorFinding(error)], facts: {} };
  }

  /** In the order in which they are shown. */
  results(): CheckResult[] {
    return checkIds.flatMap((id) => this.#ended.get(id)?.result ?? []);
  }

  findings(): ReportFinding[] {
    return checkIds.flatMap((id) => this.#ended.get(id)?.findings ?? []);
  }
}

function errorFinding({ code, message, hint, place }: GloveboxError): Finding {
  return { rule: code, severity: 'error', message, hint: hint ?? errorCatalogue[code].hint, place: place ?? {} };
}
