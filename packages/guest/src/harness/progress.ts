import { type Control, paths, readAnswer } from './control.ts';
import { monotonicMs, quote, startTimer, stopTimer, uncurryThis } from './primordials.ts';
import { whenSettled } from './promises.ts';

interface Report {
  fraction?: number;
  message?: string;
}

/** The host takes 10,000 reports of an attempt; at this pace the longest attempt makes 6,000. */
const intervalMs = 100;

const unref = uncurryThis((Object.getPrototypeOf(setTimeout(() => {}, 0).unref()) as NodeJS.Timeout).unref);

/** Sends the newest report at a bounded pace, one at a time; what comes faster replaces what waits. */
export class ProgressReporter {
  readonly #control: Control;
  #waiting: Report | undefined;
  #sending = false;
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
    if (this.#sending || this.#timer !== undefined || !this.#waiting) return;
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
    unref(this.#timer);
  }

  #send(report: Report): void {
    this.#waiting = undefined;
    this.#sending = true;
    this.#lastSentMs = monotonicMs();
    const done = (): void => {
      this.#sending = false;
      this.#schedule();
    };
    try {
      whenSettled(readAnswer(this.#control.send('POST', paths.progress, progressText(report))), done, done);
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
