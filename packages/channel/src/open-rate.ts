import { Doubles } from './primordials.ts';

/** The last second's events, in order; never more than `most`. */
class LastSecond {
  readonly #times: Float64Array;
  readonly #most: number;
  #first = 0;
  #count = 0;

  constructor(most: number) {
    this.#most = most;
    this.#times = new Doubles(most);
  }

  /** Events not older than one second before `nowMs`. */
  count(nowMs: number): number {
    while (this.#count > 0 && (this.#times[this.#first] as number) < nowMs - 1000) {
      this.#first = (this.#first + 1) % this.#most;
      this.#count--;
    }
    return this.#count;
  }

  add(nowMs: number): void {
    this.#times[(this.#first + this.#count) % this.#most] = nowMs;
    this.#count++;
  }

  oldest(): number {
    return this.#times[this.#first] as number;
  }
}

/** The server's side of the limit: counts OPENs as they arrive. */
export class OpenLimit {
  readonly #opens: LastSecond;
  readonly #perSecond: number;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#opens = new LastSecond(perSecond);
  }

  /** @returns false when this OPEN is one too many for the second that ends now. */
  admit(nowMs: number): boolean {
    if (this.#opens.count(nowMs) >= this.#perSecond) return false;
    this.#opens.add(nowMs);
    return true;
  }
}

/**
 * The client's side: holds OPENs back so that the server's limit is never met, however late the server reads.
 *
 * Timing the sending would not do: a host that was busy for a while reads what was sent in two seconds within a moment.
 * So an OPEN counts until one second after the first frame that the server sent on its stream. The server had read the
 * OPEN by then; hence of any OPENs that it reads within one second, all but the last still counted when the last was sent.
 */
export class OpenPacer {
  readonly #seen: LastSecond;
  readonly #perSecond: number;
  #unseen = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
    this.#seen = new LastSecond(perSecond);
  }

  /** @returns the ms to wait before an OPEN may be sent, or that the server has to send something first. */
  wait(nowMs: number): number | 'until-seen' {
    const seen = this.#seen.count(nowMs);
    if (this.#unseen + seen < this.#perSecond) return 0;
    return seen === 0 ? 'until-seen' : this.#seen.oldest() + 1001 - nowMs;
  }

  opened(): void {
    this.#unseen++;
  }

  seen(nowMs: number): void {
    this.#unseen--;
    this.#seen.add(nowMs);
  }
}
