import { type EgressReason, errorCatalogue } from '@glovebox/contract';
import type { Denial, EgressProblem } from './api.ts';

/** A request that is refused for what it is: only its author can change that. */
export function refusal(reason: 'URL_REFUSED' | 'PATH_AMBIGUOUS' | 'HEADER_REFUSED'): Denial {
  return { kind: 'denied', reason, rule: null, patch: null, approver: 'author' };
}

/** A denial as a cell is told of it, with a hint at what could be done and by whom. */
export function denialProblem({
  reason,
  rule,
  patch,
  approver,
}: Pick<Denial, 'reason' | 'rule' | 'patch' | 'approver'>): EgressProblem {
  return {
    code: 'EGRESS_DENIED',
    reason,
    rule,
    patch,
    approver,
    hint: hints[reason] ?? errorCatalogue.EGRESS_DENIED.hint,
  };
}

const declare = 'Declare it in capabilities.http, for which the patch is a beginning; an approver has to agree.';

const hints: { readonly [reason in EgressReason]?: string } = {
  URL_REFUSED:
    'Write the URL plainly: http or https, a host, a port if need be, a path; no user name, fragment, backslash or blank.',
  PATH_AMBIGUOUS: 'Write the path without dot segments, control characters and broken escapes, encoded or not.',
  HEADER_REFUSED:
    'Send header names and values without control characters, a body in one way only, and no path or method in a header that is none.',
  HTTP_NOT_DECLARED: declare,
  HOST_NOT_DECLARED: declare,
  SCHEME_NOT_DECLARED: declare,
  PORT_NOT_DECLARED: declare,
  METHOD_NOT_DECLARED: declare,
  PATH_NOT_DECLARED: declare,
  WEBSOCKET_NOT_DECLARED: declare,
  DENIED_BY_POLICY: "The project's egress policy denies this; an admin can change that.",
  ABOVE_POLICY_MAXIMUM: "The project's egress policy sets a maximum, and this is above it; an admin can change that.",
  ADDRESS_NOT_PUBLIC:
    "The name leads to an address that is not public; an admin can add an allowance to the project's egress policy.",
  ADDRESS_NEVER_ALLOWED: 'Nothing can allow this address or name.',
};
