import { GloveboxError } from '@glovebox/contract';
import type { DialTimeouts } from './api.ts';
import { dialFailure } from './dial-failure.ts';

/** What is waited for. While `reader` has bytes that it has not taken, the silence is its own and only the total counts. */
export type Phase = 'connect' | 'upload' | 'headers' | 'idle' | 'reader';

/** The deadlines of one request. Each ends it with a reason of its own. */
export interface Watch {
  /** Aborted when a deadline has passed, or whoever asked has had enough; its reason is the error to reject with. */
  readonly signal: AbortSignal;
  enter(phase: Phase): void;
  /** A byte came or went. */
  touch(): void;
  /** Until the total deadline. */
  readonly leftMs: number;
  /** Ends the request for a reason of its own. */
  fail(reason: unknown): void;
  /** The request is over: nothing is watched any more. */
  stop(): void;
}

/**
 * Watch one request from now on.
 *
 * @param origin for messages, such as `https://api.example.com`.
 * @param signals of whoever may end it: the caller, and the scope that it belongs to.
 */
export function watchRequest(timeouts: DialTimeouts, origin: string, signals: readonly AbortSignal[]): Watch {
  const controller = new AbortController();
  const endsAtMs = performance.now() + timeouts.total;
  let phaseTimer: NodeJS.Timeout | undefined;
  let isStopped = false;

  const stop = (): void => {
    isStopped = true;
    clearTimeout(phaseTimer);
    phaseTimer = undefined;
    clearTimeout(totalTimer);
    for (const signal of signals) signal.removeEventListener('abort', onAbort);
  };
  const fail = (reason: unknown): void => {
    stop();
    controller.abort(reason);
  };
  const expire = (phase: 'connect' | 'headers' | 'idle' | 'total', ms: number): void =>
    fail(dialFailure(expiries[phase].reason, `${origin}: ${expiries[phase].text} within ${ms} ms.`));
  function onAbort(this: AbortSignal): void {
    fail(abortReason(this, origin));
  }

  const totalTimer = setTimeout(() => expire('total', timeouts.total), timeouts.total);
  for (const signal of signals) {
    if (signal.aborted) onAbort.call(signal);
    else signal.addEventListener('abort', onAbort, { once: true });
  }

  return {
    signal: controller.signal,
    enter(phase) {
      clearTimeout(phaseTimer);
      phaseTimer = undefined;
      if (isStopped || phase === 'upload' || phase === 'reader') return;
      phaseTimer = setTimeout(() => expire(phase, timeouts[phase]), timeouts[phase]);
    },
    touch() {
      phaseTimer?.refresh();
    },
    get leftMs() {
      return Math.max(0, endsAtMs - performance.now());
    },
    fail,
    stop,
  };
}

const expiries = {
  connect: { reason: 'CONNECT_TIMED_OUT', text: 'there was no connection' },
  headers: { reason: 'HEADERS_TIMED_OUT', text: 'there was no answer' },
  idle: { reason: 'IDLE_TIMED_OUT', text: 'there was no further byte' },
  total: { reason: 'TOTAL_TIMED_OUT', text: 'the request did not come to its end' },
} as const;

/** Whoever aborts with an error of ours says why; of anything else only that it was given up. */
function abortReason(signal: AbortSignal, origin: string): unknown {
  const { reason } = signal;
  return GloveboxError.is(reason)
    ? reason
    : dialFailure('CONNECTION_LOST', `${origin}: the request was given up by whoever made it.`);
}

/** Settles as the promise does, or rejects with the reason of the signal as soon as that is aborted. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
