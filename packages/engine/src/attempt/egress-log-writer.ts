import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EgressRecord } from '@glovebox/contract';
import type { EgressLog } from '../ports.ts';

/** Records that wait to be written; who has more to say waits with it. */
const maxWaiting = 1000;
/** Most records of one transaction. */
const maxBatch = 500;

/**
 * Writes the egress records of one attempt, in order, as many at once as have come since the last transaction began. Where
 * the end of a request is known before its decision is written, the end alone is.
 *
 * What cannot be written stops it for good: every later `record`, and `flush`, rejects with the first failure.
 */
export class EgressLogWriter {
  readonly #log: Pick<EgressLog, 'append'>;
  readonly #project: string;
  /** By sequence number. */
  readonly #waiting = new Map<number, EgressRecord>();
  #writing: Promise<void> | undefined;
  #failure: { cause: unknown } | undefined;

  constructor(log: Pick<EgressLog, 'append'>, project: string) {
    this.#log = log;
    this.#project = project;
  }

  /** Resolves once there is room for more. */
  async record(record: EgressRecord): Promise<void> {
    this.#throwFailure();
    this.#waiting.set(record.seq, record);
    this.#writing ??= this.#write();
    while (this.#waiting.size >= maxWaiting) {
      await this.#writing;
      this.#throwFailure();
    }
  }

  /** Resolves when all that was recorded is kept. */
  async flush(): Promise<void> {
    await this.#writing;
    this.#throwFailure();
  }

  async #write(): Promise<void> {
    // Whatever else is said in this turn belongs to the same transaction.
    await nextTurn();
    while (this.#waiting.size > 0 && this.#failure === undefined) {
      const batch = [...this.#waiting.values()].slice(0, maxBatch);
      for (const { seq } of batch) this.#waiting.delete(seq);
      try {
        await this.#log.append(batch.map((record) => ({ project: this.#project, record })));
      } catch (cause) {
        this.#failure = { cause };
        this.#waiting.clear();
      }
    }
    this.#writing = undefined;
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.cause;
  }
}
