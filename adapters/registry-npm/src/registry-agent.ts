import { type Agent, type AgentOptions, type ClientRequest, Agent as HttpAgent, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { getCACertificates } from 'node:tls';
import type { NpmConfig } from './npm-config.ts';

/**
 * @returns the socket pool for a protocol: Node.js's own, with the certificate authorities and the proxy of npm's
 *   configuration. It breaks off any response that is longer on the wire than `maxBytes`.
 *
 * The limit is here because npm-registry-fetch reads and unpacks the body of an error answer, however long, before it
 * says a word. So bodies of all answers but 200 are left packed.
 */
export function agentOpener({ authorities, proxy }: NpmConfig, maxBytes: number): (protocol: string) => Agent {
  const agents = new Map<string, Agent>();
  return (protocol) => {
    const opened = agents.get(protocol);
    if (opened !== undefined) return opened;
    const options: AgentOptions = { keepAlive: true, ...proxyOption(proxy), ...authorityOption(authorities) };
    const agent = bounded(protocol === 'https:' ? new HttpsAgent(options) : new HttpAgent(options), maxBytes);
    agents.set(protocol, agent);
    return agent;
  };
}

const proxyOption = (proxy: NpmConfig['proxy']): object => (Object.keys(proxy).length === 0 ? {} : { proxyEnv: proxy });

/** Only where something is configured: reading certificates costs more than a request. */
function authorityOption({ instead, besides }: NpmConfig['authorities']): object {
  if (instead.length === 0 && besides.length === 0) return {};
  return { ca: [...(instead.length > 0 ? instead : getCACertificates('default')), ...besides] };
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
