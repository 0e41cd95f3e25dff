import type { RequestHead, ResponseHead } from './api.ts';
import { ChannelError } from './errors.ts';
import { corrupted, type Violation } from './frame.ts';
import {
  charCodeAt,
  isArray,
  isInteger,
  keysOf,
  latin1Slice,
  min,
  numberToText,
  parseJsonText,
  sliceText,
} from './primordials.ts';

/**
 * Heads on the wire are flat JSON arrays of text in printable ASCII: `["GET","https://…","name","value",…]` and
 * `[200,"name","value",…]`. An array has no keys, so there is no duplicate, no `__proto__` and no depth to get wrong.
 */

const maxUrlLength = 16 * 1024;
const maxMethodLength = 32;
/** Thousands of short ones would fit a head, and take the reader a hundred times as long as a long one. */
const maxHeaders = 128;

/** @throws ChannelError `CHANNEL_HEAD_INVALID`; nothing was sent. */
export function encodeRequestHead(head: RequestHead): string {
  const { method, url, headers } = head;
  const problem = requestLineProblem(method, url);
  if (problem !== undefined) throw new ChannelError('CHANNEL_HEAD_INVALID', problem);
  return `["${method}",${quote(url)}${encodeHeaders(headers)}]`;
}

/** @throws ChannelError `CHANNEL_HEAD_INVALID`; nothing was sent. */
export function encodeResponseHead(head: ResponseHead): string {
  const { status, headers } = head;
  if (!isStatus(status))
    throw new ChannelError('CHANNEL_HEAD_INVALID', 'the status is no whole number from 200 to 599');
  return `[${numberToText(status, 10)}${encodeHeaders(headers)}]`;
}

export function decodeRequestHead(bytes: Uint8Array, start: number, end: number): RequestHead | Violation {
  const items = decodeArray(bytes, start, end);
  if (!items) return corrupted('a request head is no JSON array in printable ASCII');
  const method = items[0];
  const url = items[1];
  const problem = requestLineProblem(method, url);
  if (problem !== undefined) return corrupted(`a request head: ${problem}`);
  const headers = decodeHeaders(items, 2);
  if (typeof headers === 'string') return corrupted(`a request head: ${headers}`);
  return { __proto__: null, method, url, headers } as unknown as RequestHead;
}

export function decodeResponseHead(bytes: Uint8Array, start: number, end: number): ResponseHead | Violation {
  const items = decodeArray(bytes, start, end);
  if (!items) return corrupted('an answer head is no JSON array in printable ASCII');
  const status = items[0];
  if (!isStatus(status)) return corrupted('an answer head: the status is no whole number from 200 to 599');
  const headers = decodeHeaders(items, 1);
  if (typeof headers === 'string') return corrupted(`an answer head: ${headers}`);
  // Without a prototype: a promise is resolved with it, and must not find a `then` that somebody put on Object.prototype.
  return { __proto__: null, status, headers } as unknown as ResponseHead;
}

function requestLineProblem(method: unknown, url: unknown): string | undefined {
  if (typeof method !== 'string' || !isMethod(method)) return 'the method is not 1 to 32 of A-Z and hyphen';
  if (typeof url !== 'string' || !isAbsoluteUrl(url))
    return 'the URL is not absolute, not printable ASCII or over 16 KiB';
  return undefined;
}

function isStatus(value: unknown): value is number {
  return isInteger(value) && (value as number) >= 200 && (value as number) <= 599;
}

function isMethod(text: string): boolean {
  if (text.length === 0 || text.length > maxMethodLength) return false;
  for (let i = 0; i < text.length; i++) {
    const code = charCodeAt(text, i);
    if (!(code >= 0x41 && code <= 0x5a) && code !== 0x2d) return false;
  }
  return true;
}

/** `scheme://` and at least one character more, all printable ASCII without space. Parsing it is up to who acts on it. */
function isAbsoluteUrl(text: string): boolean {
  if (text.length > maxUrlLength) return false;
  let colon = -1;
  for (let i = 0; i < text.length; i++) {
    const code = charCodeAt(text, i);
    if (code <= 0x20 || code >= 0x7f) return false;
    if (colon === -1) {
      if (code === 0x3a) colon = i;
      else if (!(code >= 0x61 && code <= 0x7a)) return false;
    }
  }
  return colon > 0 && text.length > colon + 3 && sliceText(text, colon, colon + 3) === '://';
}

/** A field name of RFC 9110, in lower case. `__proto__` is one by that grammar: refused, since headers become keys of objects. */
function isHeaderName(text: string): boolean {
  if (text.length === 0 || text.length > 256 || text === '__proto__') return false;
  for (let i = 0; i < text.length; i++) {
    const code = charCodeAt(text, i);
    const alphanumeric = (code >= 0x61 && code <= 0x7a) || (code >= 0x30 && code <= 0x39);
    if (!alphanumeric && !isNamePunctuation(code)) return false;
  }
  return true;
}

/** ! # $ % & ' * + - . ^ _ ` | ~ */
function isNamePunctuation(code: number): boolean {
  switch (code) {
    case 0x21:
    case 0x23:
    case 0x24:
    case 0x25:
    case 0x26:
    case 0x27:
    case 0x2a:
    case 0x2b:
    case 0x2d:
    case 0x2e:
    case 0x5e:
    case 0x5f:
    case 0x60:
    case 0x7c:
    case 0x7e:
      return true;
    default:
      return false;
  }
}

/** Tab, and what is printable in ISO 8859-1: no CR, LF or NUL that would split a header further on. */
function isHeaderValue(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = charCodeAt(text, i);
    if (!((code >= 0x20 && code < 0x7f) || code === 0x09 || (code >= 0x80 && code <= 0xff))) return false;
  }
  return true;
}

function encodeHeaders(headers: { [name: string]: string }): string {
  const names = keysOf(headers);
  if (names.length > maxHeaders)
    throw new ChannelError('CHANNEL_HEAD_INVALID', `there are ${names.length} headers, over ${maxHeaders}`);
  let text = '';
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    const value = headers[name];
    if (!isHeaderName(name))
      throw new ChannelError('CHANNEL_HEAD_INVALID', 'the name of a header is no lower-case field name');
    if (typeof value !== 'string' || !isHeaderValue(value)) {
      throw new ChannelError('CHANNEL_HEAD_INVALID', `the value of header ${name} is no text in ISO 8859-1`);
    }
    text += `,"${name}",${quote(value)}`;
  }
  return text;
}

/** @returns a text that says what is wrong. */
function decodeHeaders(items: unknown[], first: number): { [name: string]: string } | string {
  if ((items.length - first) % 2 !== 0) return 'a header has no value';
  if (items.length - first > 2 * maxHeaders) return `there are more than ${maxHeaders} headers`;
  const headers = { __proto__: null } as unknown as { [name: string]: string };
  for (let i = first; i < items.length; i += 2) {
    const name = items[i];
    const value = items[i + 1];
    if (typeof name !== 'string' || !isHeaderName(name)) return 'the name of a header is no lower-case field name';
    if (typeof value !== 'string' || !isHeaderValue(value)) return 'the value of a header is no text in ISO 8859-1';
    // Two values for one name are two readings of one request.
    if (headers[name] !== undefined) return 'a header is there twice';
    headers[name] = value;
  }
  return headers;
}

function decodeArray(bytes: Uint8Array, start: number, end: number): unknown[] | undefined {
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    if (byte < 0x20 || byte > 0x7e) return undefined;
  }
  try {
    const value = parseJsonText(latin1Slice(bytes, start, end));
    return isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** A JSON string in printable ASCII. Written by hand: JSON.stringify is fine, but it would leave é as it is. */
function quote(text: string): string {
  let quoted = '"';
  let done = 0;
  for (let i = 0; i < text.length; i++) {
    const code = charCodeAt(text, i);
    if (code >= 0x20 && code <= 0x7e && code !== 0x22 && code !== 0x5c) continue;
    quoted += sliceText(text, done, i);
    quoted += code === 0x22 ? '\\"' : code === 0x5c ? '\\\\' : `\\u00${code < 16 ? '0' : ''}${numberToText(code, 16)}`;
    done = i + 1;
  }
  return `${quoted}${sliceText(text, done, text.length)}"`;
}

/** A reason as it may travel: printable ASCII, at most 256. */
export function cleanReason(text: string, most: number): string {
  let clean = '';
  const length = min(text.length, most);
  for (let i = 0; i < length; i++) {
    const code = charCodeAt(text, i);
    clean += code >= 0x20 && code <= 0x7e ? text[i] : '?';
  }
  return clean;
}
