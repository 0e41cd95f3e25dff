import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import type { NpmConfig } from './npm-config.ts';
import { proxyFor } from './registry-proxy.ts';

/**
 * @returns the socket pool for a URL, once it is there: the dialer's, with the certificate authorities and the proxy of npm's configuration.
 *   It breaks off any response that is longer on the wire than `maxBytes`.
 *
 * The limit is here because npm-registry-fetch reads and unpacks the body of an error answer, however long, before it
 * says a word. So bodies of all answers but 200 are left packed.
 */
export function agentOpener({ authorities, proxy }: NpmConfig, maxBytes: number): (url: URL) => Promise<Agent> {
  const opened = new Map<string | undefined, Promise<Agents>>();
  return async (url) => {
    const through = proxyFor(url, proxy);
    const opening = opened.get(through) ?? openAgents(authorities, through, maxBytes);
    opened.set(through, opening);
    const { http, https } = await opening;
    return url.protocol === 'https:' ? https : http;
  };
}

interface Agents {
  http: Agent;
  https: Agent;
}

async function openAgents(
  { instead, besides }: NpmConfig['authorities'],
  proxy: string | undefined,
  maxBytes: number,
): Promise<Agents> {
  // With the first fetch: most runs have everything in the cache.
  const { createDialer, systemResolver, withShortNames } = await import('@glovebox/egress');
  const dialer = createDialer({ resolver: withShortNames(systemResolver()), roots: instead, extraCa: besides, proxy });
  // Whoever runs this machine has named the registry, and it may well be inside his network. Nobody else can lead there:
  // a redirect to another origin is not followed.
  const { http, https } = dialer.agents('registry', { judgeAddress: () => ({ kind: 'allowed' }) });
  return { http: bounded(http, maxBytes), https: bounded(https, maxBytes) };
}

/** What every agent has and `@types/node` leaves out; libraries that make agents build on it. */
interface RequestingAgent extends Agent {
  addRequest(request: ClientRequest, ...rest: unknown[]): void;
}

function bounded(agent: Agent, maxBytes: number): Agent {
  const requesting = agent as RequestingAgent;
  const addRequest = requesting.addRequest.bind(agent);
  requesting.addRequest = (request, ...rest) => {
    request.once('response', (response: IncomingMessage) => {
      if (response.statusCode !== 200) delete response.headers['content-encoding'];
      let seen = 0;
      response.on('data', (chunk: Uint8Array) => {
        seen += chunk.byteLength;
        if (seen > maxBytes) response.destroy(new ResponseTooLong());
      });
    });
    addRequest(request, ...rest);
  };
  return agent;
}

/** Inside this package only: becomes a GloveboxError where the package is known. */
export class ResponseTooLong extends Error {}
