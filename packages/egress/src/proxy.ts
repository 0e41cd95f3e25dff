import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { GloveboxError } from '@glovebox/contract';
import { formatAddress, parseAddress } from './address.ts';
import type { AddressBytes, Resolver, Target } from './api.ts';
import { dialFailure } from './dial-failure.ts';
import type { DialTls } from './dial-tls.ts';
import { type ConnectPermit, type Reached, raceAddresses } from './race-addresses.ts';
import { withShortNames } from './resolver.ts';
import { untilAborted } from './timeouts.ts';

/** An HTTP proxy by which this host reaches the outside. An admin names it, so its own address is not judged. */
export interface UpstreamProxy {
  /**
   * A tunnel to one of these addresses, in this order. What is asked for is an address that was judged, never a name: a proxy
   * that looks a name up itself would get an answer that nobody has seen.
   *
   * @throws GloveboxError `EGRESS_FAILED` (`PROXY_FAILED`), in whose text the proxy has no name, what the fence throws, or the
   *   signal's reason.
   */
  reach(addresses: readonly AddressBytes[], port: number, means: ProxyMeans, permit: ConnectPermit): Promise<Reached>;
}

export interface ProxyMeans {
  readonly resolver: Resolver;
  readonly tls: DialTls;
}

/** @throws GloveboxError `CONFIG_INVALID`; the URL is not in its text, for it may hold a password. */
export function openProxy(unsafeUrl: string): UpstreamProxy {
  const url = URL.parse(unsafeUrl);
  if (url === null || !['http:', 'https:'].includes(url.protocol))
    throw new GloveboxError('CONFIG_INVALID', { message: 'The proxy is not an http or https URL.' });
  const secure = url.protocol === 'https:';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const target = { host, literal: parseAddress(host), port: Number(url.port) || (secure ? 443 : 80) };
  const authorization = authorizationOf(url);

  /** One proxy may take another connection for another address, so each try has its own. */
  async function tunnel(address: AddressBytes, port: number, { resolver, tls }: ProxyMeans, permit: ConnectPermit) {
    const bare = await reachProxy(target, withShortNames(resolver), permit);
    try {
      const spoken = secure ? await secureProxy(bare, target, tls, permit) : bare;
      permit.fence();
      const socket = await openTunnel(spoken, formatAddress(address), port, authorization, permit.signal);
      return { socket, bare, address };
    } catch (error) {
      bare.destroy();
      throw error;
    }
  }

  return {
    async reach(addresses, port, means, permit) {
      let failure: unknown;
      for (const address of addresses) {
        // What it throws is no failure of an address.
        permit.fence();
        try {
          return await tunnel(address, port, means, permit);
        } catch (error) {
          permit.signal.throwIfAborted();
          failure = error;
        }
      }
      throw failure;
    },
  };
}

type ProxyTarget = Pick<Target, 'host' | 'literal' | 'port'>;

async function reachProxy(
  { host, literal, port }: ProxyTarget,
  resolver: Resolver,
  permit: ConnectPermit,
): Promise<Socket> {
  const { signal } = permit;
  try {
    const addresses = literal === undefined ? await untilAborted(resolver.resolve(host, signal), signal) : [literal];
    return (await raceAddresses(addresses, port, permit)).socket;
  } catch (error) {
    throw signal.aborted ? signal.reason : failed('The proxy cannot be reached', error);
  }
}

/** Which host an admin's proxy is on is none of a node's business. */
async function secureProxy(
  bare: Socket,
  target: ProxyTarget,
  tls: DialTls,
  { fence, signal }: ConnectPermit,
): Promise<Socket> {
  fence();
  try {
    return await tls.secure(bare, target, ['http/1.1'], signal);
  } catch (error) {
    throw signal.aborted ? signal.reason : failed('TLS with the proxy cannot be agreed on', error);
  }
}

function failed(what: string, error: unknown): Error {
  const { code, details } = error as { code?: unknown; details?: { code?: unknown } };
  const name = details?.code ?? code;
  return dialFailure('PROXY_FAILED', `${what} (${typeof name === 'string' ? name : 'unknown'}).`);
}

/** CONNECT (RFC 9110, section 9.3.6), for plain HTTP too: a proxy that is sent requests would read and change them. */
function openTunnel(
  socket: Socket,
  address: string,
  port: number,
  authorization: string | undefined,
  signal: AbortSignal,
): Promise<Socket> {
  const authority = `${address.includes(':') ? `[${address}]` : address}:${port}`;
  return new Promise((resolve, reject) => {
    const request: ClientRequest = httpRequest({
      method: 'CONNECT',
      path: authority,
      createConnection: () => socket,
      headers: { host: authority, ...(authorization === undefined ? {} : { 'proxy-authorization': authorization }) },
    });
    const settle = (then: () => void): void => {
      signal.removeEventListener('abort', onAbort);
      then();
    };
    const fail = (error: unknown): void => {
      socket.destroy();
      settle(() => reject(error));
    };
    const onAbort = (): void => fail(signal.reason);
    request.once('connect', ({ statusCode = 0 }: IncomingMessage, tunnel: Socket, head: Buffer) => {
      if (statusCode < 200 || statusCode > 299) return fail(refused(statusCode));
      // Bytes of the other side that came with the proxy's answer.
      if (head.length > 0) tunnel.unshift(head);
      settle(() => resolve(tunnel));
    });
    request.once('response', ({ statusCode = 0 }) => fail(refused(statusCode)));
    request.on('error', (error: { code?: string }) =>
      fail(dialFailure('PROXY_FAILED', `The proxy broke off (${error.code ?? 'unknown'}).`)),
    );
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    request.end();
  });
}

const refused = (status: number): Error =>
  dialFailure('PROXY_FAILED', `The proxy answered ${status} when it was asked for a connection.`, { status });

function authorizationOf({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined;
  const pair = `${decoded(username)}:${decoded(password)}`;
  return `Basic ${Buffer.from(pair).toString('base64')}`;
}

/** The URL parser leaves a percent sign that begins nothing as it is. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
