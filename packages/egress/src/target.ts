import { formatAddress, parseAddress } from './address.ts';
import type { AddressBytes, Denial, Target } from './api.ts';
import { refusal } from './denial.ts';
import { isHostName, isSameHost } from './target-host.ts';
import { isAmbiguousPath } from './target-path.ts';

/** Characters, as the channel takes them. */
const maxUrlLength = 16 * 1024;

const shape = /^(https?):\/\/([^/?#]+)([^?#]*)(\?[^#]*)?$/i;
const bracketed = /^\[([0-9a-f:.]+)\](?::([1-9]\d{0,4}))?$/i;
const named = /^([^:[\]]+)(?::([1-9]\d{0,4}))?$/;

export type ParsedTarget = { readonly kind: 'target'; readonly target: Target } | Denial;

/**
 * Read the URL of a request, once: what comes out is decided on, and is what is sent.
 *
 * The URL parser of Node.js reads it, and nothing that a parser could read otherwise gets as far: another scheme, userinfo, a
 * fragment, a backslash, a blank or an invisible character, an empty host or label, a dot at the end of the host, a port that
 * is 0, empty or padded, an escape in the host, or a host that only becomes one by folding (full-width digits and dots).
 * Numbers in every spelling of IPv4 are one address.
 *
 * @returns the target, or a denial: `URL_REFUSED`, or `PATH_AMBIGUOUS` for a path that servers read in more than one way.
 */
export function parseTarget(unsafeUrl: string): ParsedTarget {
  if (unsafeUrl.length > maxUrlLength || /[\\\p{Z}\p{Cc}\p{Cf}\p{Cs}]/u.test(unsafeUrl)) return refusal('URL_REFUSED');
  const [, , authority, rawPath] = shape.exec(unsafeUrl) ?? [];
  if (authority === undefined || rawPath === undefined) return refusal('URL_REFUSED');
  const url = URL.parse(unsafeUrl);
  if (url === null) return refusal('URL_REFUSED');
  const host = readHost(authority, url);
  if (host === undefined) return refusal('URL_REFUSED');
  // As it was written too: the parser has already taken out what dot segments it saw.
  if (isAmbiguousPath(rawPath) || (rawPath !== url.pathname && isAmbiguousPath(url.pathname)))
    return refusal('PATH_AMBIGUOUS');
  const scheme = url.protocol === 'https:' ? 'https' : 'http';
  return {
    kind: 'target',
    target: {
      scheme,
      ...host,
      port: url.port === '' ? defaultPorts[scheme] : Number(url.port),
      path: url.pathname,
      query: url.search,
      authority: url.host,
    },
  };
}

const defaultPorts = { http: 80, https: 443 } as const;

/** The host, where the text between `//` and the path is one in a plain way and the URL parser read the same one. */
function readHost(
  authority: string,
  { hostname }: URL,
): { readonly host: string; readonly literal: AddressBytes | undefined } | undefined {
  const inBrackets = bracketed.exec(authority)?.[1];
  if (inBrackets !== undefined) {
    const literal = parseAddress(inBrackets);
    if (literal?.length !== 16 || `[${formatAddress(literal)}]` !== hostname) return undefined;
    return { host: formatAddress(literal), literal };
  }
  const name = named.exec(authority)?.[1];
  if (name === undefined || name.endsWith('.')) return undefined;
  const literal = parseAddress(hostname);
  // Digits of other scripts are folded into an address by some parsers and not by others.
  if (literal !== undefined) return /^[0-9a-fx.]+$/i.test(name) ? { host: formatAddress(literal), literal } : undefined;
  return isHostName(hostname) && isSameHost(name, hostname) ? { host: hostname, literal: undefined } : undefined;
}
