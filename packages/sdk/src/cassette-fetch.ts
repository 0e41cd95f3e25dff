import type { NodeContext } from './api.ts';
import { checkFetch } from './arguments.ts';
import { readCassette } from './cassette-format.ts';
import { answerFields, BodyDigester, bodyOf, canonicalUrl } from './cassette-match.ts';
import { CassettePlayer, missText } from './cassette-player.ts';
import { NodeError } from './node-error.ts';
import type { TestRequest } from './testing-api.ts';

const maxRedirects = 20;
const maxCauses = 5;
/** Before a test can have put another in its place. */
const { fetch: builtin } = globalThis;
const withoutBody: readonly number[] = [204, 205, 304];

/**
 * A `fetch` that a cassette answers, and that reaches nothing else; `data:` and `blob:` need nobody to answer. Redirects are followed through the cassette as the
 * request asks; what the cassette has not is `CASSETTE_MISS`.
 *
 * @param http a cassette; undefined for an empty one.
 * @param requests where each request is told.
 * @throws TypeError when it is no cassette.
 */
export function cassetteFetch(http: object | undefined, requests: TestRequest[]): NodeContext['fetch'] {
  const read = readCassette(http ?? { schema: 'glovebox.cassette/1', entries: [] });
  if (!read.ok) throw new TypeError(`http${read.path}: ${read.message}`);
  const player = new CassettePlayer(read.cassette);
  return async (input, init) => {
    if (checkFetch(init).credential !== undefined) {
      const details = { reason: 'CREDENTIAL_NOT_AVAILABLE' };
      throw new NodeError('EGRESS_DENIED', 'ctx.fetch: no credential can be put into a request yet', { details });
    }
    const request = new Request(input, init);
    if (/^(data|blob):/.test(request.url)) return builtin(request);
    let hop: Hop = {
      method: request.method,
      url: request.url,
      contentType: request.headers.get('content-type') ?? undefined,
      body: new Uint8Array(await request.arrayBuffer()),
    };
    for (let hops = 0; ; hops++) {
      request.signal.throwIfAborted();
      const response = answer(player, hop, requests, hops > 0);
      const location = response.headers.get('location');
      const redirects = [301, 302, 303, 307, 308].includes(response.status) && location !== null;
      if (!redirects || request.redirect === 'manual') return response;
      if (request.redirect === 'error')
        throw new TypeError('fetch failed', { cause: new Error('unexpected redirect') });
      if (hops === maxRedirects) throw new TypeError('fetch failed', { cause: new Error('redirect count exceeded') });
      hop = redirected(hop, response.status, location);
    }
  };
}

/** The error of ours that a fetch has failed with, however a library has wrapped it: a cell names how the node failed by it. */
export function fetchFailureIn(thrown: unknown): NodeError | undefined {
  let error = thrown;
  for (let n = 0; n <= maxCauses; n++) {
    if (NodeError.is(error, 'CASSETTE_MISS') || NodeError.is(error, 'EGRESS_DENIED')) return error;
    error = error instanceof Error ? error.cause : undefined;
  }
  return undefined;
}

interface Hop {
  method: string;
  url: string;
  contentType: string | undefined;
  body: Uint8Array;
}

function answer(player: CassettePlayer, hop: Hop, requests: TestRequest[], redirected: boolean): Response {
  const digester = new BodyDigester(hop.contentType);
  digester.update(hop.body);
  const url = canonicalUrl(hop.url);
  if (url === undefined) throw new TypeError(`ctx.fetch: ${hop.url.slice(0, 100)} is no http or https URL`);
  const taken = player.take({ method: hop.method, url, body: digester.end()?.digest });
  if (taken.kind === 'miss') {
    requests.push({ method: hop.method, url, status: undefined });
    throw new NodeError('CASSETTE_MISS', `ctx.fetch: ${missText(taken.miss)}`, {
      details: { reason: 'CASSETTE_MISS', ...taken.miss },
    });
  }
  const { status, body } = taken.entry.response;
  requests.push({ method: hop.method, url, status });
  const bytes = hop.method === 'HEAD' || withoutBody.includes(status) ? null : new Uint8Array(bodyOf(body));
  const response = new Response(bytes, { status, headers: answerFields(taken.entry.response) });
  // A response that is made, rather than fetched, says neither.
  return Object.defineProperties(response, { url: { value: url }, redirected: { value: redirected } });
}

/** As fetch does it: a POST that is redirected becomes a GET, but for 307 and 308. */
function redirected(hop: Hop, status: number, location: string): Hop {
  const url = new URL(location, hop.url).href;
  const becomesGet =
    (status === 303 && hop.method !== 'HEAD') || ((status === 301 || status === 302) && hop.method === 'POST');
  return becomesGet ? { method: 'GET', url, contentType: undefined, body: new Uint8Array() } : { ...hop, url };
}
