import { setImmediate as nextTurn } from 'node:timers/promises';
import type { EgressRecord } from '@glovebox/contract';
import type { EgressLog } from '../ports.ts';

/** Records that wait to be written; who has more to say waits with it. */
const maxWaiting = 500;
/** How long the end of a request waits for others: nothing depends on it but what a log shows. */
const endDelayMs = 20;

/**
 * Writes the egress records of one attempt, in order, as many at once as have come since the last transaction began.
 *
 * What cannot be written stops it for good: every later `record`, and `flush`, rejects with the first failure.
 */
export class EgressLogWriter {
  readonly #log: Pick<EgressLog, 'append'>;
  readonly #project: string;
  #waiting: EgressRecord[] = [];
  /** The transaction that takes what waits; undefined where none is asked for. */
  #next: Promise<void> | undefined;
  /** The last one that was asked for. */
  #last: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  #failure: { cause: unknown } | undefined;

  constructor(log: Pick<EgressLog, 'append'>, project: string) {
    this.#log = log;
    this.#project = project;
  }

  /**
   * Resolves, for a request that is `open`, when it is kept: a host that dies after something has left must not leave it
   * untold. For any other, once there is room for more.
   */
  async record(record: EgressRecord): Promise<void> {
    this.#throwFailure();
    this.#waiting.push(record);
    if (record.outcome !== 'open' && this.#waiting.length < maxWaiting) {
      this.#timer ??= setTimeout(() => void this.#commit(), endDelayMs);
      return;
    }
    await this.#commit();
    this.#throwFailure();
  }

  /** Resolves when all that was recorded is kept. */
  async flush(): Promise<void> {
    await (this.#waiting.length > 0 ? this.#commit() : this.#last);
    this.#throwFailure();
  }

  /** Never rejects. */
  #commit(): Promise<void> {
    if (this.#next === undefined) {
      this.#next = this.#write(this.#last);
      this.#last = this.#next;
    }
    return this.#next;
  }

  async #write(before: Promise<void>): Promise<void> {
    await before;
    // Whatever else is said in this turn belongs to the same transaction.
    await nextTurn();
    this.#next = undefined;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#waiting;
    this.#waiting = [];
    if (this.#failure !== undefined) return;
    try {
      await this.#log.append(batch.map((record) => ({ project: this.#project, record })));
    } catch (cause) {
      this.#failure = { cause };
    }
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.cause;
  }
}
