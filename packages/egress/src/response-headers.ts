import type { IncomingHttpHeaders } from 'node:http';

/** RFC 9110, section 7.6.1, and what speaks of a connection although it is not listed there. */
const hopByHop: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authentication-info',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/** As undici has them: lower-case names, several values as a list. */
export type RawHeaders = IncomingHttpHeaders;

/**
 * The head of an answer without what concerned only the connection, those named by `connection` included. Several values
 * are one, joined by a comma; `set-cookie`, which cannot be joined so, is a JSON array of texts.
 */
export function answerHeaders(raw: RawHeaders): Readonly<Record<string, string>> {
  const named = new Set(
    textOf(raw.connection)
      .toLowerCase()
      .split(/\s*,\s*/),
  );
  const kept = Object.entries(raw).filter(
    ([name, value]) => value !== undefined && !name.startsWith(':') && !hopByHop.has(name) && !named.has(name),
  );
  return Object.fromEntries(
    kept.map(([name, value]) => [name, name === 'set-cookie' ? JSON.stringify([value].flat()) : textOf(value)]),
  );
}

const textOf = (value: string | readonly string[] | undefined): string =>
  typeof value === 'string' ? value : (value ?? []).join(', ');

/** What a body that was decoded no longer is. */
export function withoutEncoding(headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { 'content-encoding': _encoding, 'content-length': _length, ...rest } = headers;
  return rest;
}

/** Bytes of a head, by names and values. */
export function headBytes(raw: RawHeaders): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(raw)) bytes += name.length + textOf(value).length;
  return bytes;
}
