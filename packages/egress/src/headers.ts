import type { Denial } from './api.ts';
import { refusal } from './denial.ts';

type Headers = Readonly<Record<string, string>>;

export type OnwardHeaders =
  /** `methods`: those of which some servers then take the request to be, beside its own. */
  { readonly kind: 'headers'; readonly headers: Headers; readonly methods: readonly string[] } | Denial;

/** They describe a connection and end with it (RFC 9110, section 7.6.1), beside those that `connection` names. */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'http2-settings',
]);

/**
 * What of a request's headers is ours to say: where it goes, how it is waited for. By the two that speak of a forwarded host
 * a front end of many sites would lead it to one that no rule allows.
 */
const ours: ReadonlySet<string> = new Set(['host', 'x-forwarded-host', 'forwarded', 'expect', 'alt-used']);

/** Some servers take the path from these: a rule would be matched with one path, and another one asked for. */
const otherPaths = ['x-original-url', 'x-rewrite-url'] as const;
/** Some servers take the method from these, most of them of a POST. */
const otherMethods = ['x-http-method-override', 'x-http-method', 'x-method-override'] as const;

/**
 * Which headers of a cell's request go on to the origin. Ours, those of a connection, `proxy-…` and `glovebox-…` are left
 * out. `content-length` stays: an origin may want it, and the dialer holds the body to it.
 *
 * @returns the headers with lower-case names, without a prototype; or the denial `HEADER_REFUSED` where a name or value could
 * be read as more than one, two headers say two things about the body, or one names another path.
 */
export function onwardHeaders(unsafeHeaders: Headers): OnwardHeaders {
  const headers = lowerCased(unsafeHeaders);
  if (headers === undefined) return refusal('HEADER_REFUSED');
  const named = namedByConnection(headers.connection);
  if (named === undefined || !isOneBody(headers)) return refusal('HEADER_REFUSED');
  const methods = methodsIn(headers);
  if (methods === undefined || otherPaths.some((name) => name in headers)) return refusal('HEADER_REFUSED');
  const onward = without(headers, (name) => isOfConnection(name, named) || ours.has(name));
  return { kind: 'headers', headers: onward, methods };
}

/** Each once: they are decided on one by one. @returns undefined where a header that names a method names none. */
function methodsIn(headers: Headers): string[] | undefined {
  const methods = otherMethods
    .flatMap((name) => headers[name]?.split(',') ?? [])
    .map((method) => method.trim().toUpperCase());
  return methods.every((method) => /^[A-Z-]{1,32}$/.test(method)) ? [...new Set(methods)] : undefined;
}

/**
 * Which headers of an origin's answer go back to the cell: none of its connection with us, none that would have the cell
 * connect elsewhere, and none in our own name. What a header may not have is left out with its header.
 */
export function returnedHeaders(unsafeHeaders: Headers): Headers {
  const headers: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(unsafeHeaders)) {
    const lower = name.toLowerCase();
    if (isFieldName(lower) && isFieldValue(value) && !(lower in headers)) headers[lower] = value;
  }
  const named = namedByConnection(headers.connection) ?? new Set();
  return without(headers, (name) => isOfConnection(name, named) || name === 'alt-svc');
}

function lowerCased(unsafeHeaders: Headers): Record<string, string> | undefined {
  const headers: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(unsafeHeaders)) {
    const lower = name.toLowerCase();
    if (!isFieldName(lower) || !isFieldValue(value)) return undefined;
    // In two spellings it is one header with two values.
    if (lower in headers) return undefined;
    headers[lower] = value;
  }
  return headers;
}

/** Length and transfer coding together, or a length that is none, let two readers see two requests in one. */
function isOneBody(headers: Headers): boolean {
  const length = headers['content-length'];
  if (length === undefined) return true;
  return /^\d{1,15}$/.test(length) && headers['transfer-encoding'] === undefined;
}

/** @returns undefined where the value is no list of field names. */
function namedByConnection(value: string | undefined): Set<string> | undefined {
  const names = (value ?? '')
    .split(',')
    .map((name) => name.trim().toLowerCase())
    .filter((name) => name !== '');
  return names.every(isFieldName) ? new Set(names) : undefined;
}

const isOfConnection = (name: string, named: ReadonlySet<string>): boolean =>
  hopByHop.has(name) || named.has(name) || name.startsWith('proxy-') || name.startsWith('glovebox-');

function without(headers: Headers, isLeftOut: (name: string) => boolean): Headers {
  const kept: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(headers)) if (!isLeftOut(name)) kept[name] = value;
  return kept;
}

/** A token of RFC 9110 in lower case. `__proto__` is one, and no header: it would not stay a plain key everywhere. */
function isFieldName(name: string): boolean {
  return /^[a-z0-9!#$%&'*+.^_`|~-]{1,256}$/.test(name) && name !== '__proto__';
}

/** Printable, blank or tab, in ISO 8859-1. CR, LF and NUL would end the header, or the head, further on. */
function isFieldValue(value: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]*$/.test(value);
}
