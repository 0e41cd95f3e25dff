import { GloveboxError } from '@glovebox/contract';
import type { Fence } from './api.ts';

export const attemptEnded = 'the attempt has ended';

/**
 * Whether one attempt may still act. Closed for good by its end, and by its deadline on a clock that also counts while the
 * host is suspended or this process is stopped: whoever wakes late finds the fence closed at his first step.
 */
export class AttemptFence {
  readonly #deadlineAtBootMs: number;
  readonly #bootMs: () => number;
  #ended = false;

  constructor(deadlineAtBootMs: number, bootMs: () => number) {
    this.#deadlineAtBootMs = deadlineAtBootMs;
    this.#bootMs = bootMs;
  }

  /** @throws GloveboxError `EGRESS_DENIED`, reason `ATTEMPT_ENDED`. */
  readonly check: Fence = () => {
    if (!this.isOpen) throw new GloveboxError('EGRESS_DENIED', endedOptions());
  };

  /** As `check`, for whoever may take no longer than is left. @returns milliseconds, more than 0. */
  requireLeftMs(): number {
    const leftMs = this.remainingMs;
    if (!(leftMs > 0)) throw new GloveboxError('EGRESS_DENIED', endedOptions());
    return leftMs;
  }

  get isOpen(): boolean {
    return this.remainingMs > 0;
  }

  /**
   * Until the deadline, in milliseconds. Nothing is left at 0, and where it is no number because the clock tells none. Each
   * reading costs as much as the clock does.
   */
  get remainingMs(): number {
    return this.#ended ? 0 : Math.max(0, this.#deadlineAtBootMs - this.#bootMs());
  }

  get ended(): boolean {
    return this.#ended;
  }

  end(): void {
    this.#ended = true;
  }
}

const endedOptions = () => ({
  message: `Nothing leaves any more: ${attemptEnded}.`,
  hint: 'Wait for requests before the handler returns, or raise resources.timeout.',
  details: { reason: 'ATTEMPT_ENDED' },
});
