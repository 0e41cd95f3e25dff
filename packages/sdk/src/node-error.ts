import type { Json, NodeErrorOptions, NodeError as PublicNodeError } from './api.ts';
import { execPattern, isFiniteNumber, PlainTypeError } from './primordials.ts';

/**
 * Told by this mark, not by `instanceof`: the harness and every bundle have copies of the class of their own.
 */
export const nodeErrorMark: unique symbol = Symbol.for('glovebox.NodeError') as never;

export const errorCodePattern = /^[A-Z][A-Z0-9_]{0,99}$/;
export const maxRetryAfterMs = 86_400_000;
const durationPattern = /^(\d{1,9})(ms|s|m)$/;

class NodeErrorClass extends Error {
  readonly code: string;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly details: Json | undefined;

  constructor(code: string, message: string, options: NodeErrorOptions = {}) {
    if (typeof code !== 'string' || !execPattern(errorCodePattern, code)) {
      throw new PlainTypeError('NodeError: code must be 1 to 100 of A-Z, 0-9 and underscore, beginning with a letter');
    }
    if (typeof message !== 'string')
      throw new PlainTypeError(`NodeError: message must be a string, got ${typeof message}`);
    if (typeof options !== 'object' || options === null)
      throw new PlainTypeError('NodeError: options must be an object');
    const { retryable = false, retryAfter, details } = options;
    if (typeof retryable !== 'boolean') throw new PlainTypeError('NodeError: retryable must be a boolean');
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'NodeError';
    this.code = code;
    this.retryable = retryable;
    this.retryAfterMs = retryAfter === undefined ? undefined : durationMs(retryAfter);
    this.details = details;
  }

  get [nodeErrorMark](): true {
    return true;
  }

  static is(value: unknown, code?: string): value is PublicNodeError {
    const marked = (value as { [nodeErrorMark]?: unknown } | null | undefined)?.[nodeErrorMark] === true;
    return marked && (code === undefined || (value as PublicNodeError).code === code);
  }
}

function durationMs(value: number | string): number {
  let ms = value;
  if (typeof ms === 'string') {
    const match = execPattern(durationPattern, ms);
    if (match) ms = +(match[1] as string) * (match[2] === 'm' ? 60_000 : match[2] === 's' ? 1000 : 1);
  }
  if (typeof ms !== 'number' || !isFiniteNumber(ms) || ms < 0 || ms > maxRetryAfterMs) {
    throw new PlainTypeError('NodeError: retryAfter must be milliseconds, or text such as "30s", of at most a day');
  }
  return ms;
}

export const NodeError: typeof PublicNodeError = NodeErrorClass;
export type NodeError = PublicNodeError;
