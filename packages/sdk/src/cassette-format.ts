import { bodyOf, canonicalUrl } from './cassette-match.ts';
import type { Cassette, CassetteEntry, CassetteHeaders } from './testing-api.ts';

export type { Cassette, CassetteBody, CassetteEntry, CassetteHeaders } from './testing-api.ts';

/** Bounds of a cassette, beyond the size of its file. Characters, but for `entries` and `headers`. */
export const cassetteLimits = { entries: 1000, headers: 100, headerValue: 16_384, url: 8192 } as const;

/** `path` is a JSON Pointer in the cassette. */
export type ReadCassette = { ok: true; cassette: Cassette } | { ok: false; path: string; message: string };

const schemaName = 'glovebox.cassette/1';
const headerName = /^[a-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
/** Of a field; without what could begin another one. */
export const headerValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** What an answer cannot say: bodies are kept decoded and whole, and no origin speaks in our name. */
export const refusedOfAnswers =
  /^(content-encoding|content-length|transfer-encoding|connection|keep-alive|trailer|upgrade|glovebox-.*)$/;

/** The first fault; caught by readCassette. */
class Fault extends Error {
  readonly path: string;
  constructor(path: string, message: string) {
    super(message);
    this.path = path;
  }
}

/**
 * Take a cassette from a value that JSON.parse gave, strictly: an unknown member is a fault. Ends at the first fault, and at
 * the count of entries before it looks at one, so what a hostile file costs is bounded by its size.
 */
export function readCassette(value: unknown): ReadCassette {
  try {
    const { schema, entries } = members(value, '', ['schema', 'entries']);
    if (schema !== schemaName) throw new Fault('/schema', `schema must be "${schemaName}"`);
    if (!Array.isArray(entries)) throw new Fault('/entries', 'entries must be an array');
    if (entries.length > cassetteLimits.entries)
      throw new Fault('/entries', `there are ${entries.length} entries; at most ${cassetteLimits.entries}`);
    return { ok: true, cassette: { schema, entries: entries.map((entry, i) => readEntry(entry, `/entries/${i}`)) } };
  } catch (fault) {
    if (fault instanceof Fault) return { ok: false, path: fault.path, message: fault.message };
    throw fault;
  }
}

function readEntry(value: unknown, path: string): CassetteEntry {
  const { request, response } = members(value, path, ['request', 'response']);
  return { request: readRequest(request, `${path}/request`), response: readResponse(response, `${path}/response`) };
}

function readRequest(value: unknown, path: string): CassetteEntry['request'] {
  const { method, url, headers, body } = members(value, path, ['method', 'url', 'headers', 'body']);
  if (typeof method !== 'string' || !/^[A-Z]{1,16}$/.test(method))
    throw new Fault(`${path}/method`, 'method must be capitals, such as GET');
  if (typeof url !== 'string' || url.length > cassetteLimits.url)
    throw new Fault(`${path}/url`, `url must be text of at most ${cassetteLimits.url} characters`);
  const canonical = canonicalUrl(url);
  if (canonical === undefined) throw new Fault(`${path}/url`, 'url must begin with https:// or http://');
  // One that is written otherwise than requests are would never be found.
  if (canonical !== url) throw new Fault(`${path}/url`, `url must be written as ${canonical.slice(0, 300)}`);
  return {
    method,
    url,
    ...(headers === undefined ? {} : { headers: readHeaders(headers, `${path}/headers`) }),
    ...(body === undefined ? {} : { body: readRequestBody(body, `${path}/body`) }),
  };
}

function readResponse(value: unknown, path: string): CassetteEntry['response'] {
  const { status, headers, body } = members(value, path, ['status', 'headers', 'body']);
  if (typeof status !== 'number' || !Number.isInteger(status) || status < 200 || status > 599)
    throw new Fault(`${path}/status`, 'status must be a whole number from 200 to 599');
  const read = headers === undefined ? undefined : readHeaders(headers, `${path}/headers`);
  const refused = Object.keys(read ?? {}).find((name) => refusedOfAnswers.test(name));
  if (refused !== undefined)
    throw new Fault(`${path}/headers/${refused}`, `${refused} does not belong here: bodies are kept decoded and whole`);
  return {
    status,
    ...(read === undefined ? {} : { headers: read }),
    ...(body === undefined ? {} : { body: readBody(body, `${path}/body`) }),
  };
}

const isFieldValue = (value: unknown): boolean =>
  typeof value === 'string' && value.length <= cassetteLimits.headerValue && headerValue.test(value);

function readHeaders(value: unknown, path: string): CassetteHeaders {
  const entries = Object.entries(object(value, path));
  if (entries.length > cassetteLimits.headers) throw new Fault(path, `at most ${cassetteLimits.headers} headers`);
  for (const [name, text] of entries) {
    // Own member or prototype: which one it is would depend on who copies it.
    if (!headerName.test(name) || name === '__proto__')
      throw new Fault(path, `${JSON.stringify(name.slice(0, 80))} is no header name in lower case`);
    const fields = name === 'set-cookie' && Array.isArray(text) ? text : [text];
    if (fields.length > cassetteLimits.headers || !fields.every(isFieldValue))
      throw new Fault(`${path}/${escaped(name)}`, `${name} must be a header value`);
  }
  return Object.fromEntries(entries) as CassetteHeaders;
}

function readRequestBody(value: unknown, path: string): NonNullable<CassetteEntry['request']['body']> {
  const { digest, bytes } = object(value, path);
  if (digest === undefined) return readBody(value, path);
  members(value, path, ['digest', 'bytes']);
  if (typeof digest !== 'string' || !/^sha256:[0-9a-f]{64}$/.test(digest))
    throw new Fault(`${path}/digest`, 'digest must be sha256: and 64 hexadecimal digits');
  if (typeof bytes !== 'number' || !Number.isSafeInteger(bytes) || bytes < 1)
    throw new Fault(`${path}/bytes`, 'bytes must be a whole number above 0');
  return { digest, bytes };
}

function readBody(value: unknown, path: string): { text: string } | { base64: string } {
  const { text, base64 } = members(value, path, ['text', 'base64']);
  if (typeof text === 'string' && base64 === undefined) {
    if (!text.isWellFormed())
      throw new Fault(`${path}/text`, 'text has half a surrogate pair, which UTF-8 cannot hold');
    return { text };
  }
  if (text !== undefined || typeof base64 !== 'string') throw new Fault(path, 'body must be { text } or { base64 }');
  if (bodyOf({ base64 }).toString('base64') !== base64)
    throw new Fault(`${path}/base64`, 'base64 must be standard base64 with its padding');
  return { base64 };
}

function members(value: unknown, path: string, known: readonly string[]): { [name: string]: unknown } {
  const read = object(value, path);
  const unknown = Object.keys(read).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Fault(
      `${path}/${escaped(unknown.slice(0, 80))}`,
      `unknown member ${JSON.stringify(unknown.slice(0, 80))}`,
    );
  }
  return read;
}

/** Own members alone: a prototype that a `__proto__` of the text could have become is none of them. */
function object(value: unknown, path: string): { [name: string]: unknown } {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Fault(path, 'must be an object');
  return Object.assign(Object.create(null), value);
}

/** As a part of a JSON Pointer. */
const escaped = (name: string): string => name.replaceAll('~', '~0').replaceAll('/', '~1');
