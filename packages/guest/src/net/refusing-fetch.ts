import { PlainPromise, PlainTypeError } from '../harness/primordials.ts';
import { property } from '../harness/property.ts';
import type { Fetch } from './context-fetch.ts';
import { egressError } from './egress-error.ts';
import type { Exchanges } from './exchange.ts';

const ParsedUrl = URL;
const methodPattern = /^[A-Za-z-]{1,32}$/;

/**
 * The global fetch of a node that declares no http: puts the head of the request to the host, which refuses and records it, and
 * rejects with what it says. URLs that need no network, such as `data:`, go to the built-in one.
 */
export function refusingFetch(exchanges: Exchanges, builtin: Fetch): Fetch {
  // Under the name that a stack shows.
  return function fetch(input, init) {
    const url = urlOf(input);
    if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:')) return builtin(input, init);
    return new PlainPromise((_resolve, reject) => {
      const refuse = (cause: Error): void => reject(new PlainTypeError('fetch failed', { cause }));
      const head = { method: methodOf(input, init), url: textOf(url), headers: {} };
      const exchange = exchanges.begin(head, {
        // A host that lets it pass is none that knows this manifest. Fails closed: nothing of the answer reaches the node.
        answered: () => {
          exchange.cancel('not declared');
          refuse(notDeclared());
        },
        chunk: () => undefined,
        ended: () => undefined,
        failed: refuse,
      });
      exchange.end();
    });
  };
}

const notDeclared = (): Error =>
  egressError('EGRESS_DENIED', 'The node declares no capabilities.http', { reason: 'HTTP_NOT_DECLARED' });

function urlOf(input: unknown): URL | undefined {
  const text = typeof input === 'string' ? input : (property(input, 'href') ?? property(input, 'url'));
  try {
    return new ParsedUrl(text as string);
  } catch {
    return undefined;
  }
}

/** With its port, always: see parseRequestHead. */
function textOf({ protocol, hostname, port, pathname, search }: URL): string {
  return `${protocol}//${hostname}:${port === '' ? (protocol === 'https:' ? 443 : 80) : port}${pathname}${search}`;
}

function methodOf(input: unknown, init: unknown): string {
  const method = property(init, 'method') ?? property(input, 'method');
  return typeof method === 'string' && methodPattern.test(method) ? method.toUpperCase() : 'GET';
}
