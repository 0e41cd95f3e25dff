import type { DialRequest } from './api.ts';
import { type AskedCodings, narrowCodings, wideCodings } from './wide-decoders.ts';

/** Who is talked to, how the connection works and how the answer may be packed is said by the dialer alone. */
const ours: ReadonlySet<string> = new Set([
  'host',
  'accept-encoding',
  'connection',
  'expect',
  'http2-settings',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const encodings = { narrow: narrowCodings.join(', '), wide: [...narrowCodings, ...wideCodings].join(', ') };

/**
 * What a request says of itself on its way out.
 *
 * `Host` is that of the target, whatever the request has: with another one a front end would lead it to a site that no rule
 * allows. A part of something (`range`) and a size (`HEAD`) are asked for unpacked: of something packed they mean nothing.
 */
export function requestHeaders(
  request: Pick<DialRequest, 'target' | 'headers' | 'method'> & { body: unknown },
  codings: AskedCodings,
): Record<string, string> {
  const given = Object.entries(request.headers).filter(([name]) => !ours.has(name.toLowerCase()));
  // Without a body its length would be a promise that nobody keeps.
  const kept = given.filter(([name]) => request.body !== undefined || name.toLowerCase() !== 'content-length');
  const plain = request.method === 'HEAD' || given.some(([name]) => name.toLowerCase() === 'range');
  return {
    ...Object.fromEntries(kept),
    'accept-encoding': plain ? 'identity' : encodings[codings],
    host: request.target.authority,
  };
}
