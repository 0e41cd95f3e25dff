import { contextFetch, type Fetch } from './context-fetch.ts';
import { Exchanges, type Wire } from './exchange.ts';
import { installConnections } from './install.ts';
import { refusingFetch } from './refusing-fetch.ts';

/** The outside, as the node sees it. */
export interface Network {
  /** `ctx.fetch`. */
  readonly fetch: Fetch;
  /** Nothing else can happen in the cell. @returns whether something of the network was given up, so that something can. */
  giveUp(): boolean;
}

/**
 * Before author code is loaded.
 *
 * @param kind `closed`: the manifest declares no http. Nothing is loaded then; `fetch` asks the host all the same, which says no
 * and keeps a record, and everything else is refused by Node.js.
 */
export function prepareNetwork(wire: Wire, kind: 'open' | 'closed'): Network {
  const exchanges = new Exchanges(wire);
  const builtin = globalThis.fetch as Fetch;
  if (kind === 'open') {
    const giveUp = installConnections(exchanges);
    return { fetch: contextFetch(builtin), giveUp };
  }
  const fetch = refusingFetch(exchanges, builtin);
  Object.defineProperty(globalThis, 'fetch', { configurable: true, enumerable: true, writable: true, value: fetch });
  return { fetch: contextFetch(fetch), giveUp: () => false };
}
