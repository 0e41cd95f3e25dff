import { GloveboxError } from '@glovebox/contract';
import type { DialResponse } from './api.ts';
import { returnedHeaders } from './headers.ts';

type Head = Pick<DialResponse, 'status' | 'headers'>;

/** Of the channel: headers of a head, and bytes of it as JSON, less those of the status and the brackets. */
const maxHeaders = 128;
const maxHeadBytes = 32 * 1024 - 16;

/**
 * The head of an answer as the cell gets it.
 *
 * @throws GloveboxError `EGRESS_FAILED`: `HEADERS_TOO_LARGE`, or `PROTOCOL_ERROR` for a status that no answer ends with.
 */
export function answerHeadOf({ status, headers }: Head): { status: number; headers: { [name: string]: string } } {
  if (status < 200 || status > 599) throw failure('PROTOCOL_ERROR', `The origin answered with status ${status}.`);
  const kept = returnedHeaders(headers);
  const names = Object.keys(kept);
  const bytes = names.reduce((sum, name) => sum + jsonBytes(name) + jsonBytes(kept[name] as string), 0);
  if (names.length > maxHeaders || bytes > maxHeadBytes)
    throw failure('HEADERS_TOO_LARGE', `The answer has ${names.length} headers in ${bytes} bytes.`);
  return { status, headers: kept };
}

/** Of one text of a head, with its quotes and the comma before it: a tab, and what is not ASCII, takes six bytes. */
const jsonBytes = (text: string): number =>
  text.length + 3 + countOf(/["\\]/g, text) + 5 * countOf(/[\t\x80-\xff]/g, text);

const countOf = (pattern: RegExp, text: string): number => text.match(pattern)?.length ?? 0;

/** Bytes that the answer's body is said to have; 0 where nothing is said, or where there is no body. */
export function declaredBytes(method: string, { status, headers }: Head): number {
  if (method === 'HEAD' || status === 204 || status === 304) return 0;
  const length = headers['content-length'] ?? '';
  return /^\d{1,15}$/.test(length) ? Number(length) : 0;
}

const failure = (reason: 'PROTOCOL_ERROR' | 'HEADERS_TOO_LARGE', message: string): GloveboxError =>
  new GloveboxError('EGRESS_FAILED', { message, details: { reason } });
