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

/** The code of an answer that broke off for `reason`: whoever gave it up could not answer any more. */
export function codeOfReason(reason: string): { code: EgressCode; reason: EgressReason } {
  switch (reason) {
    case 'RESPONSE_TOO_LARGE':
    case 'REQUEST_TOO_LARGE':
    case 'TOO_MANY_REQUESTS':
      return { code: 'EGRESS_BUDGET', reason };
    case 'IDLE_TIMED_OUT':
    case 'TOTAL_TIMED_OUT':
    case 'HEADERS_TIMED_OUT':
    case 'CONNECT_TIMED_OUT':
      return { code: 'EGRESS_TIMED_OUT', reason };
    case 'ATTEMPT_ENDED':
      return { code: 'EGRESS_DENIED', reason };
    case 'CASSETTE_MISS':
      return { code: 'CASSETTE_MISS', reason };
    case 'ENCODING_BROKEN':
    case 'ENCODING_REFUSED':
    case 'PROTOCOL_ERROR':
    case 'TLS_FAILED':
      return { code: 'EGRESS_FAILED', reason };
    default:
      return { code: 'EGRESS_FAILED', reason: 'CONNECTION_LOST' };
  }
}
