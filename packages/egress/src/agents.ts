import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent, type RequestOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { parseAddress } from './address.ts';
import type { Dialer, DialTimeouts, Policy, Target } from './api.ts';
import { openDialSockets, scopeEnded } from './dial-sockets.ts';
import type { TlsIdentity } from './dial-tls.ts';
import { watchRequest } from './timeouts.ts';
import { type ConnectMeans, vettedConnect } from './vetted-connect.ts';

/** How long a connection may take: the clients for whom these agents are have deadlines only of their own. */
const connectMs = 30_000;
const timeouts: DialTimeouts = { connect: connectMs, headers: connectMs, idle: connectMs, total: connectMs };

type Connected = (error: Error | null, socket?: Duplex) => void;

/**
 * Agents of `node:http` and `node:https` whose connections are vetted. Of a request's own options for TLS only a client's
 * certificate counts: neither the name that is checked, nor whether it is, is the client's to say.
 */
export function openAgents(means: ConnectMeans, policy: Pick<Policy, 'judgeAddress'>): ReturnType<Dialer['agents']> {
  const sockets = openDialSockets();
  const ended = new AbortController();

  const connectBy =
    (scheme: Target['scheme']) =>
    (options: RequestOptions, callback: Connected): undefined => {
      const target = targetOf(scheme, options);
      const watch = watchRequest(timeouts, `${scheme}://${target.host}:${target.port}`, [ended.signal]);
      watch.enter('connect');
      const identity = identityOf(options);
      vettedConnect(means, {
        route: { target, allowances: [] },
        policy,
        sockets,
        protocols: ['http/1.1'],
        fence: () => {},
        signal: watch.signal,
        ...(identity === undefined ? {} : { identity }),
      })
        .finally(watch.stop)
        .then(
          ({ socket }) => callback(null, socket),
          (error: Error) => callback(error),
        );
    };
  const http = Object.assign(new HttpAgent({ keepAlive: true }), { createConnection: connectBy('http') });
  const https = Object.assign(new HttpsAgent({ keepAlive: true }), { createConnection: connectBy('https') });
  return {
    http,
    https,
    destroy() {
      sockets.killAll();
      ended.abort(scopeEnded());
      http.destroy();
      https.destroy();
    },
  };
}

function targetOf(
  scheme: Target['scheme'],
  { host, port }: RequestOptions,
): Pick<Target, 'scheme' | 'host' | 'literal' | 'port'> {
  const name = (host ?? 'localhost').toLowerCase().replace(/^\[|\]$/g, '');
  return { scheme, host: name, literal: parseAddress(name), port: Number(port) || (scheme === 'https' ? 443 : 80) };
}

function identityOf({ cert, key, passphrase }: RequestOptions): TlsIdentity | undefined {
  if (cert === undefined || key === undefined) return undefined;
  return { cert, key: key as NonNullable<TlsIdentity['key']>, ...(passphrase === undefined ? {} : { passphrase }) };
}
