import { createHash, type Hash } from 'node:crypto';
import type { CassetteBody, CassetteEntry } from './testing-api.ts';

/** In the place of a secret in a query, recorded and asked for alike: the two match whatever the secret is. */
const hiddenInQuery = 'not-recorded';

/** Parameters that hold a secret by their names, in lower case. */
const secretParameters: ReadonlySet<string> = new Set([
  'access-token',
  'access_key',
  'access_token',
  'accesstoken',
  'api-key',
  'api_key',
  'api_token',
  'apikey',
  'app_key',
  'auth',
  'auth_token',
  'authorization',
  'client_assertion',
  'client_secret',
  'id_token',
  'job_token',
  'jwt',
  'key',
  'password',
  'private_token',
  'refresh_token',
  'secret',
  'secret_key',
  'session_token',
  'sig',
  'signature',
  'subscription-key',
  'token',
  'x-amz-credential',
  'x-amz-security-token',
  'x-amz-signature',
  'x-goog-credential',
  'x-goog-signature',
]);

/**
 * A URL as cassettes have it: as the URL parser writes it, without fragment, the order of its query kept, and without the
 * values of parameters that hold a secret by their names. @returns undefined for what is no http or https URL, or has a user in it.
 */
export function canonicalUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if ((url.protocol !== 'https:' && url.protocol !== 'http:') || url.username !== '' || url.password !== '') return;
  url.hash = '';
  url.search = withoutSecrets(url.search.slice(1));
  return url.href;
}

/** A query, without its question mark, with `not-recorded` in place of what its names tell to be secret. */
function withoutSecrets(query: string): string {
  return query.split('&').map(withoutSecret).join('&');
}

/**
 * The value of `location` as a cassette keeps it: what it leads to is then asked for, and found, without the secret. Of a user no
 * more is told than that there was one; a fragment is read as a query, in whose form some servers hand out tokens.
 */
export function keptLocation(location: string): string {
  const [, path = '', query, fragment] = /^([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(location) ?? [];
  const withoutUser = path.replace(/^((?:[a-z][a-z0-9+.-]*:)?\/\/)[^/]*@/i, `$1${hiddenInQuery}@`);
  return `${withoutUser}${query === undefined ? '' : `?${withoutSecrets(query)}`}${fragment === undefined ? '' : `#${withoutSecrets(fragment)}`}`;
}

function withoutSecret(parameter: string): string {
  const end = parameter.indexOf('=');
  if (end < 0) return parameter;
  const name = parameter.slice(0, end);
  // Spelled with escapes, it is the same parameter to whoever reads it.
  return secretParameters.has(decoded(name).toLowerCase()) ? `${name}=${hiddenInQuery}` : parameter;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** In the place of a value that a cassette does not keep: whoever reads one must not learn a secret from it. */
export const notRecorded = '<not recorded>';

/** The fields of an answer as they are given: `set-cookie` may be there several times; what was not recorded is left out. */
export function answerFields({ headers = {} }: CassetteEntry['response']): [name: string, value: string][] {
  return Object.entries(headers).flatMap(([name, value]) =>
    value === notRecorded ? [] : [value].flat().map((field): [string, string] => [name, field]),
  );
}

/** The bytes of a body; none where there is none. */
export function bodyOf(body: CassetteBody | undefined): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  return 'text' in body ? Buffer.from(body.text) : Buffer.from(body.base64, 'base64');
}

/** A body as a cassette keeps it: as text where it is UTF-8. Undefined where it is empty. */
export function keptBody(bytes: Uint8Array): CassetteBody | undefined {
  if (bytes.byteLength === 0) return undefined;
  try {
    return { text: new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) };
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') };
  }
}

/** What is compared of a body. */
export interface BodyDigest {
  digest: string;
  bytes: number;
}

/** In place of the boundary of a multipart body, which clients draw at random: else no upload would be found again. */
const sameBoundary = '--boundary';

/**
 * The digest of a body that comes in chunks, of whatever sizes. Nothing of it is held, but for what may be the beginning of a
 * boundary: a list of chunks would take a hundred times the memory of what a node sends, where that is one byte at a time.
 */
export class BodyDigester {
  readonly #hash: Hash = createHash('sha256');
  readonly #boundary: string | undefined;
  /** One character a byte. */
  #rest = '';
  #bytes = 0;

  constructor(contentType: string | undefined) {
    const boundary = boundaryOf(contentType);
    this.#boundary = boundary === undefined ? undefined : `--${boundary}`;
  }

  update(chunk: Uint8Array): void {
    this.#bytes += chunk.byteLength;
    if (this.#boundary === undefined) this.#hash.update(chunk);
    else this.#rest = this.#updateWithout(this.#boundary, this.#rest + latin1(chunk));
  }

  /** Once. @returns undefined where the body was empty, which is the same as none. */
  end(): BodyDigest | undefined {
    this.#hash.update(this.#rest, 'latin1');
    return this.#bytes === 0 ? undefined : { digest: `sha256:${this.#hash.digest('hex')}`, bytes: this.#bytes };
  }

  /** @returns the end of `text`, behind the last boundary, which may be the beginning of another. */
  #updateWithout(boundary: string, text: string): string {
    const parts = text.split(boundary);
    const last = parts.pop() as string;
    const whole = Math.max(0, last.length - boundary.length + 1);
    this.#hash.update([...parts, last.slice(0, whole)].join(sameBoundary), 'latin1');
    return last.slice(whole);
  }
}

const latin1 = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString('latin1');

function boundaryOf(contentType: string | undefined): string | undefined {
  if (contentType === undefined || !/^multipart\//i.test(contentType)) return undefined;
  const found = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))/i.exec(contentType);
  return found?.[1] ?? found?.[2];
}

/** A request as it is looked for. */
export interface Asked {
  method: string;
  /** As canonicalUrl gives it. */
  url: string;
  /** Digest of its body; undefined where there is none. */
  body: string | undefined;
}

/** What an entry answers. */
export function askedBy({ request: { method, url, headers, body } }: CassetteEntry): Asked {
  if (body === undefined || 'digest' in body) return { method, url, body: body?.digest };
  const { 'content-type': contentType } = headers ?? {};
  const digester = new BodyDigester(typeof contentType === 'string' ? contentType : undefined);
  digester.update(bodyOf(body));
  return { method, url, body: digester.end()?.digest };
}
