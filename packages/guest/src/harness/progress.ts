import { type Control, paths } from './control.ts';
import { monotonicMs, quote, startTimer, stopTimer } from './primordials.ts';

interface Report {
  fraction?: number;
  message?: string;
}

/** The host takes 10,000 reports of an attempt; at this pace the longest attempt makes 6,000. */
const intervalMs = 100;

/** Sends the newest report at a bounded pace; what comes faster replaces what waits. The host's answers tell nothing. */
export class ProgressReporter {
  readonly #control: Control;
  #waiting: Report | undefined;
  #lastSentMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(control: Control) {
    this.#control = control;
  }

  report(report: Report): void {
    this.#waiting = report;
    this.#schedule();
  }

  /** Send what waits, now. */
  flush(): void {
    if (this.#timer !== undefined) stopTimer(this.#timer);
    if (this.#waiting) this.#send(this.#waiting);
  }

  #schedule(): void {
    if (this.#timer !== undefined || !this.#waiting) return;
    const waitMs = this.#lastSentMs + intervalMs - monotonicMs();
    if (waitMs <= 0) {
      this.#send(this.#waiting);
      return;
    }
    this.#timer = startTimer(() => {
      this.#timer = undefined;
      if (this.#waiting) this.#send(this.#waiting);
    }, waitMs);
    // A report that waits must not keep a node alive that waits for nothing else.
    this.#timer.unref();
  }

  #send(report: Report): void {
    this.#waiting = undefined;
    this.#lastSentMs = monotonicMs();
    try {
      this.#control.send('POST', paths.progress, progressText(report));
      this.#control.flush();
    } catch {
      // The channel has ended, and the process is about to.
    }
  }
}

function progressText({ fraction, message }: Report): string {
  const parts = `${fraction === undefined ? '' : `"fraction":${fraction}`}${fraction === undefined || message === undefined ? '' : ','}`;
  return `{${parts}${message === undefined ? '' : `"message":${quote(message)}`}}`;
}
