import { type Control, paths } from './control.ts';
import { monotonicMs, quote, startTimer, stopTimer } from './primordials.ts';

interface Report {
  fraction?: number;
  message?: string;
}

/** The host takes 10,000 reports of an attempt; at this pace the longest attempt makes 6,000. */
const intervalMs = 100;
/** Streams that reports leave to uploads (16 at once), the log and the result, however late the host answers. */
const keptStreams = 24;

/** Somebody who takes in what the host has said, without waiting for it. */
interface Reader {
  readArrived(): void;
}

/**
 * Sends the newest report at a bounded pace; what comes faster replaces what waits. The host's answers tell nothing, but
 * until they are read each report holds a stream.
 */
export class ProgressReporter {
  readonly #control: Control;
  readonly #channel: Reader;
  #waiting: Report | undefined;
  #lastTryMs = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(control: Control, channel: Reader) {
    this.#control = control;
    this.#channel = channel;
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
    if (!this.#waiting) return;
    // A timer that is set does not count: it cannot fire while a handler computes, whose reports are to arrive all the same.
    if (monotonicMs() - this.#lastTryMs >= intervalMs && this.#hasRoom()) this.#send(this.#waiting);
    if (this.#timer !== undefined || !this.#waiting) return;
    this.#timer = startTimer(
      () => {
        this.#timer = undefined;
        this.#schedule();
      },
      this.#lastTryMs + intervalMs - monotonicMs(),
    );
    // A report that waits must not keep a node alive that waits for nothing else.
    this.#timer.unref();
  }

  #hasRoom(): boolean {
    this.#lastTryMs = monotonicMs();
    if (this.#control.room <= keptStreams) this.#channel.readArrived();
    return this.#control.room > keptStreams;
  }

  #send(report: Report): void {
    this.#waiting = undefined;
    this.#lastTryMs = monotonicMs();
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
