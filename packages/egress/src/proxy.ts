import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { GloveboxError } from '@glovebox/contract';
import { formatAddress, parseAddress } from './address.ts';
import type { AddressBytes, Resolver } from './api.ts';
import { dialFailure } from './dial-failure.ts';
import type { DialSockets } from './dial-sockets.ts';
import type { DialTls } from './dial-tls.ts';
import { type Reached, raceAddresses } from './race-addresses.ts';
import { untilAborted } from './timeouts.ts';

/** An HTTP proxy by which this host reaches the outside. An admin names it, so its own address is not judged. */
export interface UpstreamProxy {
  /**
   * A tunnel to one of these addresses, in this order. What is asked for is an address that was judged, never a name: a proxy
   * that looks a name up itself would get an answer that nobody has seen.
   *
   * @throws GloveboxError `EGRESS_FAILED` (`PROXY_FAILED`), or the signal's reason.
   */
  reach(
    addresses: readonly AddressBytes[],
    port: number,
    means: { readonly resolver: Resolver; readonly tls: DialTls },
    sockets: DialSockets,
    signal: AbortSignal,
  ): Promise<Reached>;
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

  return {
    async reach(addresses, port, { resolver, tls }, sockets, signal) {
      let failure: unknown;
      for (const address of addresses) {
        try {
          const bare = await reachProxy(target, resolver, sockets, signal);
          const spoken = secure ? await tls.secure(bare, target, ['http/1.1'], signal) : bare;
          const socket = await openTunnel(spoken, formatAddress(address), port, authorization, signal);
          return { socket, bare, address };
        } catch (error) {
          if (signal.aborted) throw signal.reason;
          failure = error;
        }
      }
      throw failure;
    },
  };
}

async function reachProxy(
  { host, literal, port }: { host: string; literal: AddressBytes | undefined; port: number },
  resolver: Resolver,
  sockets: DialSockets,
  signal: AbortSignal,
): Promise<Socket> {
  try {
    const addresses = literal === undefined ? await untilAborted(resolver.resolve(host, signal), signal) : [literal];
    return (await raceAddresses(addresses, port, sockets, signal)).socket;
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const { code } = error as { code?: unknown };
    throw dialFailure('PROXY_FAILED', `The proxy cannot be reached (${typeof code === 'string' ? code : 'unknown'}).`);
  }
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
