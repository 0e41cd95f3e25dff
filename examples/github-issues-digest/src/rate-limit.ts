/** Where GitHub says no time: what it asks for then, doubled each time. */
const unsaidMs = 60_000;
const shortestMs = 1_000;

export interface Asked {
  /** By the clock that reset times are compared with. */
  nowMs: number;
  /** How often this request was made, from 1. */
  asked: number;
}

/**
 * How long to wait before the same is asked for again, as GitHub has it: `Retry-After`, then the time at which its limit is
 * reset, then a minute that doubles. At least a second, so that a clock that is behind makes no storm.
 *
 * @returns undefined where the answer is none about a limit; a 403 alone may be about permissions.
 */
export function rateLimitWaitMs(
  { status, headers }: Pick<Response, 'status' | 'headers'>,
  body: string,
  { nowMs, asked }: Asked,
): number | undefined {
  if (status !== 403 && status !== 429) return undefined;
  const waitMs = retryAfterMs(headers.get('retry-after'), nowMs) ?? resetMs(headers, nowMs);
  if (waitMs !== undefined) return Math.max(shortestMs, waitMs);
  const isLimit = status === 429 || /rate limit/i.test(body);
  return isLimit ? unsaidMs * 2 ** (asked - 1) : undefined;
}

/** Of seconds or an HTTP date. */
function retryAfterMs(text: string | null, nowMs: number): number | undefined {
  if (text === null) return undefined;
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000;
  const at = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  return Number.isNaN(at) ? undefined : at - nowMs;
}

/** Of the primary limit, once nothing of it is left: seconds since the epoch. */
function resetMs(headers: Headers, nowMs: number): number | undefined {
  const reset = headers.get('x-ratelimit-reset') ?? '';
  if (headers.get('x-ratelimit-remaining') !== '0' || !/^\d{1,12}$/.test(reset)) return undefined;
  return Number(reset) * 1000 - nowMs;
}
