import type { EgressReason, EgressRecord } from '@glovebox/contract';
import type { SessionOptions, Target } from './api.ts';

const maxPathLength = 1024;

export interface Arrival {
  readonly seq: number;
  readonly method: string;
  /** Undefined where the URL was refused: then nothing of it is kept, for nobody knows what is a secret in it. */
  readonly target: Target | undefined;
}

export type RecordEnd =
  | { readonly outcome: 'done' }
  | {
      readonly outcome: 'denied' | 'over-budget' | 'failed' | 'aborted';
      readonly reason: EgressReason | null;
      /** The rule that denied it; where it is left out, the one that had allowed it stays. */
      readonly rule?: string | null;
    };

/** What is on record of one request, as it comes to be known. */
export class RequestRecord {
  readonly #record: EgressRecord;
  readonly #startedAtMs = performance.now();

  constructor(options: SessionOptions, { seq, method, target }: Arrival) {
    this.#record = {
      seq,
      at: new Date(options.now()).toISOString(),
      purpose: 'node',
      run: options.run,
      attempt: options.attempt,
      node: options.node,
      method,
      scheme: target?.scheme ?? '',
      host: target?.host ?? '',
      port: target?.port ?? 0,
      path: (target?.path ?? '').slice(0, maxPathLength),
      outcome: 'open',
      rule: null,
      reason: null,
      address: null,
      protocol: null,
      status: null,
      bytesUp: 0,
      bytesDown: 0,
      durationMs: null,
      retries: 0,
    };
  }

  allowedBy(rule: string): void {
    this.#record.rule = rule;
  }

  connected(address: string, protocol: string): void {
    Object.assign(this.#record, { address, protocol });
  }

  retried(): void {
    this.#record.retries++;
  }

  answered({ status, address, protocol }: { status: number; address: string; protocol: string }): void {
    Object.assign(this.#record, { status, address, protocol });
  }

  sentUp(bytes: number): void {
    this.#record.bytesUp += bytes;
  }

  sentDown(bytes: number): void {
    this.#record.bytesDown += bytes;
  }

  end(end: RecordEnd): void {
    this.#record.outcome = end.outcome;
    this.#record.durationMs = Math.round((performance.now() - this.#startedAtMs) * 100) / 100;
    if (end.outcome === 'done') return;
    this.#record.reason = end.reason;
    if (end.rule !== undefined) this.#record.rule = end.rule;
  }

  /** As it is now; what comes later does not change it. */
  snapshot(): EgressRecord {
    return { ...this.#record };
  }
}
