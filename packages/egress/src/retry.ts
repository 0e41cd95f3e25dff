import type { EgressReason } from '@glovebox/contract';
import { retryAfterMs } from './retry-after.ts';

/** Before the first retry without a `Retry-After`; doubled for each further one. */
const firstDelayMs = 250;
const longestDelayMs = 10_000;

/** RFC 9110, section 9.2.1, but for TRACE: what may be asked for twice without anything being done twice. */
const safeMethods: readonly string[] = ['GET', 'HEAD', 'OPTIONS'];
const retriedStatuses: readonly number[] = [429, 502, 503, 504];
/** Of an attempt that had no answer. A name that is not there and a certificate that is not trusted do not change soon. */
const retriedReasons: readonly EgressReason[] = ['CONNECTION_REFUSED', 'CONNECTION_LOST', 'CONNECT_TIMED_OUT'];

/** Only what has no body: half of one may have been read. */
export const isRepeatable = (request: { method: string; body: unknown }): boolean =>
  safeMethods.includes(request.method) && request.body === undefined;

export type Try =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfter: string | undefined }
  | { readonly kind: 'failed'; readonly reason: EgressReason | undefined };

/** When to try again, in milliseconds from now. */
export interface RetryPlan {
  /** Tries that were made beyond the first. */
  readonly retried: number;
  readonly retries: number;
  /** Until the total deadline. No wait reaches it: then what there is is given as it is. */
  readonly leftMs: number;
  readonly nowMs: number;
  /** From 0 up to 1: callers that failed together do not come back together. */
  readonly random: number;
}

/** @returns undefined where the outcome stands. Whether the request is repeatable is for the caller to have asked. */
export function retryDelayMs(outcome: Try, plan: RetryPlan): number | undefined {
  if (plan.retried >= plan.retries || !isPassing(outcome)) return undefined;
  const asked = outcome.kind === 'answered' ? retryAfterMs(outcome.retryAfter, plan.nowMs) : undefined;
  const backOff = Math.min(longestDelayMs, firstDelayMs * 2 ** plan.retried) * (0.5 + plan.random / 2);
  const delayMs = asked ?? backOff;
  return delayMs < plan.leftMs ? delayMs : undefined;
}

function isPassing(outcome: Try): boolean {
  if (outcome.kind === 'answered') return retriedStatuses.includes(outcome.status);
  return outcome.reason !== undefined && retriedReasons.includes(outcome.reason);
}
