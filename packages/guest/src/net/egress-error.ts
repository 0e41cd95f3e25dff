import type { EgressReason, Json } from '@glovebox/contract';
import { NodeError } from '@glovebox/sdk';
import { nodeErrorMark } from '@glovebox/sdk/context-rules';
import { execPattern, indexOfText, parseJsonText, sliceText } from '../harness/primordials.ts';
import { property } from '../harness/property.ts';
import { codeOfReason, type EgressCode, isEgressCode } from './names.ts';

/** What an error of ours tells beside its code. `patch` is what would allow the request, as a merge of `capabilities.http`. */
export interface EgressDetails {
  readonly reason?: string;
  readonly rule?: Json;
  readonly patch?: Json;
  readonly approver?: string;
  readonly hint?: string;
  readonly nearest?: Json;
}

const maxCauses = 5;
const resetReason = /reset by the other side: ([A-Z][A-Z_]{2,40})\b/;

/**
 * The error that a request of the node fails with: a NodeError, with the details of the problem and, for whoever looks at it
 * by hand, `reason`, `hint` and `patch` of its own.
 */
export function egressError(code: EgressCode, what: string, details: EgressDetails): Error {
  const { reason, hint } = details;
  const why = reason === undefined ? '' : ` (${reason})`;
  const error = new NodeError(code, `${what}${why}${hint === undefined ? '' : `. ${hint}`}`, {
    retryable: code === 'EGRESS_FAILED' || code === 'EGRESS_TIMED_OUT',
    details: details as { [key: string]: Json },
  });
  return Object.assign(error, { reason, hint, patch: details.patch });
}

/** A request that cannot even be put to the host. */
export const refusedHere = (reason: keyof typeof refusedHints, what: string): Error =>
  egressError('EGRESS_DENIED', what, { reason, hint: refusedHints[reason] });

const refusedHints = {
  URL_REFUSED: 'Write the URL plainly: http or https, a host, a port if need be, a path; no fragment, at most 16 KiB.',
  HEADER_REFUSED:
    'A request has at most 32 KiB of head, 128 headers and 16 KiB of URL, and one body whose end is said in one way.',
} as const satisfies { readonly [reason in EgressReason]?: string };

export const httpOnly = (what: string): Error =>
  egressError('CELL_HTTP_ONLY', `${what}: a connection out of a cell speaks HTTP/1.1 and nothing else`, {
    hint: 'Use an HTTP client over http or https.',
  });

/** A request as messages name it: without its query, which may hold what is nobody's business. */
export function subjectOf({ method, url }: { readonly method: string; readonly url: string }): string {
  const query = indexOfText(url, '?');
  return `${method} ${query === -1 ? url : sliceText(url, 0, query)}`;
}

const verdicts: { readonly [kind: string]: string } = {
  denied: 'was denied',
  'over-budget': 'is over a budget',
  failed: 'failed',
};

/**
 * What the host answers in place of an origin. It is believed as far as it has the shape that docs/channel.md gives it.
 *
 * @param kind value of the header that marks it. @param subject the request, for the message.
 */
export function problemError(kind: string, bodyText: string, subject: string): Error {
  let problem: unknown;
  try {
    problem = parseJsonText(bodyText);
  } catch {
    problem = undefined;
  }
  const said = property(problem, 'code');
  const text = (name: string): string | undefined => {
    const value = property(problem, name);
    return typeof value === 'string' ? value : undefined;
  };
  const json = (name: string): Json | undefined => property(problem, name) as Json | undefined;
  const details: { [name: string]: Json } = {};
  const fields = {
    reason: text('reason'),
    rule: json('rule'),
    patch: json('patch'),
    approver: text('approver'),
    hint: text('hint'),
    nearest: json('nearest'),
  };
  for (const [name, value] of Object.entries(fields)) if (value !== undefined) details[name] = value;
  const code = isEgressCode(said) ? said : kind === 'denied' ? 'EGRESS_DENIED' : 'EGRESS_FAILED';
  return egressError(code, `${subject} ${verdicts[kind] ?? 'failed'}`, details as EgressDetails);
}

/** Why the stream of a request ended early, as an error of the request. */
export function brokenOff(error: unknown, subject: string): Error {
  const message = property(error, 'message');
  const match = typeof message === 'string' ? execPattern(resetReason, message) : null;
  const { code, reason } = codeOfReason(match?.[1] ?? '');
  return egressError(code, `${subject} broke off`, { reason, hint: typeof message === 'string' ? `${message}.` : '' });
}

/**
 * The error of ours that `thrown` is, or that a library has wrapped in it: as a cause, as the `detail` that stripe has in
 * place of one, or as the first of several that an AggregateError has. Libraries copy the code to an error of their own; the
 * details are only in ours, so that one goes first.
 */
export function egressErrorIn(thrown: unknown): unknown {
  let copy: unknown;
  let error = thrown;
  for (let n = 0; n <= maxCauses && error !== undefined && error !== null; n++) {
    if (isEgressCode(property(error, 'code'))) {
      if (property(error, nodeErrorMark) === true) return error;
      copy ??= error;
    }
    error = property(error, 'cause') ?? property(error, 'detail') ?? property(property(error, 'errors'), '0');
  }
  return copy;
}
