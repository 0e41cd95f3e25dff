import { openAgents } from './agents.ts';
import type { Dialer, DialerSettings } from './api.ts';
import { ConnectionScope } from './dial-scope.ts';
import { openDialTls } from './dial-tls.ts';
import { openProxy } from './proxy.ts';
import type { ConnectMeans } from './vetted-connect.ts';
import { openWideDecoders } from './wide-decoders.ts';

/**
 * The one place from which connections of the product leave.
 *
 * Scopes and agents share the settings and nothing else: no connection, no TLS session, no answer.
 *
 * @throws GloveboxError `CONFIG_INVALID` when the proxy is no URL of one.
 */
export function createDialer(settings: DialerSettings): Dialer {
  const means: ConnectMeans = {
    resolver: settings.resolver,
    tls: openDialTls(settings.extraCa, settings.roots),
    proxy: settings.proxy === undefined ? undefined : openProxy(settings.proxy),
    decoders: openWideDecoders(),
  };
  const opened = new Set<{ destroy(): void }>();
  let isDestroyed = false;
  /** One that has ended is forgotten: a server opens as many as it has attempts. */
  const kept = <T extends { destroy(): void }>(one: T): T => {
    const destroy = one.destroy.bind(one);
    opened.add(one);
    one.destroy = () => {
      opened.delete(one);
      destroy();
    };
    // Nobody would destroy it any more.
    if (isDestroyed) one.destroy();
    return one;
  };
  return {
    scope: (_purpose, policy) => kept(new ConnectionScope(means, policy)),
    agents: (_purpose, policy) => kept(openAgents(means, policy)),
    destroy() {
      isDestroyed = true;
      for (const one of opened) one.destroy();
    },
  };
}
