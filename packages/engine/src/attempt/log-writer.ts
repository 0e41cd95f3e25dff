import type { LogRecord } from '@glovebox/contract';
import type { RunStore } from '../ports.ts';

/** Most records of a batch: to hand over a hundred thousand at once would take the event loop a while. */
const logBatch = 1000;
/** How long a record waits for others. */
const logDelayMs = 100;

/** Writes log records in batches and in order. A failed write is told at the next flush. */
export class LogWriter {
  readonly #store: Pick<RunStore, 'appendLogs'>;
  readonly #attempt: string;
  #pending: LogRecord[] = [];
  #writing: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(store: Pick<RunStore, 'appendLogs'>, attempt: string) {
    this.#store = store;
    this.#attempt = attempt;
  }

  add(record: LogRecord): void {
    this.#pending.push(record);
    if (this.#pending.length >= logBatch) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), logDelayMs);
  }

  async flush(): Promise<void> {
    this.#write();
    await this.#writing;
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#pending;
    this.#pending = [];
    if (batch.length === 0) return;
    this.#writing = this.#writing.then(() => this.#store.appendLogs(this.#attempt, batch));
    // Whoever flushes is told; until then nobody need listen.
    this.#writing.catch(() => undefined);
  }
}
