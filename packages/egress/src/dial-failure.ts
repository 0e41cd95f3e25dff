import { type EgressReason, type ErrorCode, GloveboxError, type Json } from '@glovebox/contract';

const denied: readonly EgressReason[] = [
  'HEADER_REFUSED',
  'DENIED_BY_POLICY',
  'ADDRESS_NOT_PUBLIC',
  'ADDRESS_NEVER_ALLOWED',
  'ATTEMPT_ENDED',
];

/**
 * An error of the dialer: the code follows from the reason.
 *
 * @param text one sentence about the place and what happened. It may reach logs: no query, no header, no credential.
 * @param facts besides the reason, such as the status of a proxy.
 */
export function dialFailure(reason: EgressReason, text: string, facts: { [name: string]: Json } = {}): GloveboxError {
  return new GloveboxError(codeOf(reason), { message: text, details: { reason, ...facts } });
}

function codeOf(reason: EgressReason): ErrorCode {
  if (denied.includes(reason)) return 'EGRESS_DENIED';
  return reason.endsWith('_TIMED_OUT') ? 'EGRESS_TIMED_OUT' : 'EGRESS_FAILED';
}

/** The reason of an error of ours; undefined of any other. */
export function reasonOf(thrown: unknown): EgressReason | undefined {
  if (!(thrown instanceof GloveboxError)) return undefined;
  const { details } = thrown;
  const isObject = typeof details === 'object' && details !== null && !Array.isArray(details);
  return isObject && typeof details.reason === 'string' ? (details.reason as EgressReason) : undefined;
}

/** How far a request had come when its connection failed. */
export type Stage = 'connecting' | 'waiting' | 'answered';

const byCode: { readonly [code: string]: EgressReason } = {
  ECONNREFUSED: 'CONNECTION_REFUSED',
  EHOSTUNREACH: 'CONNECTION_REFUSED',
  ENETUNREACH: 'CONNECTION_REFUSED',
  EHOSTDOWN: 'CONNECTION_REFUSED',
  EADDRNOTAVAIL: 'CONNECTION_REFUSED',
  EAFNOSUPPORT: 'CONNECTION_REFUSED',
  EACCES: 'CONNECTION_REFUSED',
  EPERM: 'CONNECTION_REFUSED',
  ETIMEDOUT: 'CONNECT_TIMED_OUT',
  UND_ERR_HEADERS_OVERFLOW: 'HEADERS_TOO_LARGE',
  UND_ERR_INVALID_ARG: 'HEADER_REFUSED',
  UND_ERR_NOT_SUPPORTED: 'HEADER_REFUSED',
  UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: 'HEADER_REFUSED',
  ERR_HTTP2_INVALID_CONNECTION_HEADERS: 'HEADER_REFUSED',
  // By undici's parser, of a status that it had thought impossible.
  ERR_ASSERTION: 'PROTOCOL_ERROR',
};

/** Error codes of HTTP/2 (RFC 9113, section 7) by which one side tells that the other broke the protocol. */
const http2ProtocolErrors: readonly number[] = [0x1, 0x3, 0x6, 0x9];
/** ENHANCE_YOUR_CALM: what Node.js itself resets a stream with whose header block is over the limit. */
const http2TooMuch = 0xb;

/**
 * What a socket, TLS or undici threw, as an error of ours. Of theirs only the code is told: their messages and members hold
 * bytes of the other side.
 */
export function toDialFailure(thrown: unknown, origin: string, stage: Stage): GloveboxError {
  if (thrown instanceof GloveboxError) return thrown;
  const { code, http2ErrorCode, name: kind } = thrown as { code?: unknown; http2ErrorCode?: unknown; name?: unknown };
  // undici's parser has no code for most of what it refuses.
  const name = typeof code === 'string' ? code : kind === 'HTTPParserError' ? 'HPE_REFUSED' : undefined;
  const reason = reasonFor(name, typeof http2ErrorCode === 'number' ? http2ErrorCode : undefined, stage);
  const sentence = `${origin}: ${sentences[reason] ?? 'it failed'}`;
  if (name === undefined) return dialFailure(reason, `${sentence}.`);
  return dialFailure(reason, `${sentence} (${name}).`, { code: name });
}

function reasonFor(code: string | undefined, http2Code: number | undefined, stage: Stage): EgressReason {
  if (http2Code === http2TooMuch && stage === 'waiting') return 'HEADERS_TOO_LARGE';
  if (http2Code !== undefined && http2ProtocolErrors.includes(http2Code)) return 'PROTOCOL_ERROR';
  if (code === undefined) return 'CONNECTION_LOST';
  // Of a body that ended before it should, or, before there is any, what undici says of a head that it cannot read.
  if (code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH')
    return stage === 'answered' ? 'CONNECTION_LOST' : 'PROTOCOL_ERROR';
  const known = byCode[code];
  if (known === 'CONNECT_TIMED_OUT' && stage !== 'connecting') return 'CONNECTION_LOST';
  if (known !== undefined) return known;
  return code.startsWith('HPE_') || code === 'ERR_HTTP2_ERROR' ? 'PROTOCOL_ERROR' : 'CONNECTION_LOST';
}

const sentences: { readonly [reason in EgressReason]?: string } = {
  CONNECTION_REFUSED: 'no connection can be made',
  CONNECTION_LOST: 'the connection was lost',
  CONNECT_TIMED_OUT: 'nobody took the connection in time',
  HEADERS_TOO_LARGE: 'the head of the answer is too large',
  HEADER_REFUSED: 'a header or the length of the request is not valid',
  PROTOCOL_ERROR: 'the answer is not HTTP as it should be',
};
