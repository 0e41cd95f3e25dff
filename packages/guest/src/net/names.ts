import type { EgressReason, ErrorCode, egressAnswerHeader, egressRequestHeaders } from '@glovebox/contract';

/** As in the contract, which is not loaded here: it would bring its schemas along. */
export const answerHeader: typeof egressAnswerHeader = 'glovebox-egress';
export const requestHeaders: typeof egressRequestHeaders = {
  retry: 'glovebox-retry',
  credential: 'glovebox-credential',
  upgrade: 'glovebox-upgrade',
};

/** Codes of requests that came to nothing, which keep their name however a library wraps the error. */
export type EgressCode = Extract<
  ErrorCode,
  'EGRESS_DENIED' | 'EGRESS_BUDGET' | 'EGRESS_FAILED' | 'EGRESS_TIMED_OUT' | 'CELL_HTTP_ONLY' | 'CASSETTE_MISS'
>;

export function isEgressCode(value: unknown): value is EgressCode {
  switch (value) {
    case 'EGRESS_DENIED':
    case 'EGRESS_BUDGET':
    case 'EGRESS_FAILED':
    case 'EGRESS_TIMED_OUT':
    case 'CELL_HTTP_ONLY':
    case 'CASSETTE_MISS':
      return true;
    default:
      return false;
  }
}

/** Which code goes with a reason, where an answer of the host could not say it. */
const codes: { readonly [code in Exclude<EgressCode, 'CELL_HTTP_ONLY'>]: readonly EgressReason[] } = {
  EGRESS_BUDGET: ['TOO_MANY_REQUESTS', 'TOO_MANY_REDIRECTS', 'RESPONSE_TOO_LARGE'],
  EGRESS_TIMED_OUT: ['CONNECT_TIMED_OUT', 'HEADERS_TIMED_OUT', 'IDLE_TIMED_OUT', 'TOTAL_TIMED_OUT'],
  EGRESS_DENIED: [
    'URL_REFUSED',
    'PATH_AMBIGUOUS',
    'HEADER_REFUSED',
    'HTTP_NOT_DECLARED',
    'HOST_NOT_DECLARED',
    'SCHEME_NOT_DECLARED',
    'PORT_NOT_DECLARED',
    'METHOD_NOT_DECLARED',
    'PATH_NOT_DECLARED',
    'WEBSOCKET_NOT_DECLARED',
    'CREDENTIAL_NOT_AVAILABLE',
    'DENIED_BY_POLICY',
    'ABOVE_POLICY_MAXIMUM',
    'ADDRESS_NOT_PUBLIC',
    'ADDRESS_NEVER_ALLOWED',
    'ATTEMPT_ENDED',
  ],
  CASSETTE_MISS: ['CASSETTE_MISS'],
  EGRESS_FAILED: [
    'NAME_NOT_FOUND',
    'CONNECTION_REFUSED',
    'CONNECTION_LOST',
    'TLS_FAILED',
    'PROTOCOL_ERROR',
    'PROXY_FAILED',
    'HEADERS_TOO_LARGE',
    'ENCODING_REFUSED',
    'ENCODING_BROKEN',
    'NOT_RECORDED',
  ],
};

/** For a request that the host has broken off, by the first word of why; a word that is no reason is a connection that was lost. */
export function codeOfReason(unsafeReason: string): { code: EgressCode; reason: EgressReason } {
  for (const code in codes) {
    for (const reason of codes[code as keyof typeof codes])
      if (reason === unsafeReason) return { code: code as EgressCode, reason };
  }
  return { code: 'EGRESS_FAILED', reason: 'CONNECTION_LOST' };
}
