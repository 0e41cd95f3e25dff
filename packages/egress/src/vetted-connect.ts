import type { Socket } from 'node:net';
import { formatAddress } from './address.ts';
import type { Policy, Resolver } from './api.ts';
import { toDialFailure } from './dial-failure.ts';
import { killSocket } from './dial-sockets.ts';
import type { DialTls, TlsIdentity } from './dial-tls.ts';
import type { UpstreamProxy } from './proxy.ts';
import { type ConnectPermit, type Reached, raceAddresses } from './race-addresses.ts';
import { type Route, vetAddresses } from './vet-addresses.ts';
import type { WideDecoders } from './wide-decoders.ts';

/** What connections of one dialer are made with. */
export interface ConnectMeans {
  readonly resolver: Resolver;
  readonly tls: DialTls;
  readonly proxy: UpstreamProxy | undefined;
  readonly decoders: WideDecoders;
}

export interface ConnectRequest extends ConnectPermit {
  readonly route: Route;
  readonly policy: Pick<Policy, 'judgeAddress'>;
  /** Protocols to offer, by the names of ALPN. */
  readonly protocols: readonly ('h2' | 'http/1.1')[];
  readonly identity?: TlsIdentity;
}

/** A connection to a vetted address, ready for HTTP. */
export interface Link {
  readonly socket: Socket;
  readonly address: string;
  readonly protocol: 'h1' | 'h2';
  /** Nothing leaves by it once this has returned. */
  kill(): void;
}

/**
 * Resolve, judge every address, connect to one of those, and speak TLS where the target wants it.
 *
 * @throws GloveboxError; no socket of it is then left.
 */
export async function vettedConnect(means: ConnectMeans, request: ConnectRequest): Promise<Link> {
  const { route, policy, signal, fence } = request;
  const { target } = route;
  const origin = `${target.scheme}://${target.host}:${target.port}`;
  const addresses = await vetAddresses(route, means.resolver, policy, signal);
  let reached: Reached | undefined;
  try {
    reached =
      means.proxy === undefined
        ? await raceAddresses(addresses, target.port, request)
        : await means.proxy.reach(addresses, target.port, means, request);
    fence();
    if (target.scheme === 'http') return linkOf(reached.socket, reached, 'h1');
    const secured = await means.tls.secure(reached.socket, target, request.protocols, signal, request.identity);
    // HTTP/2 greets before anything is asked.
    fence();
    return linkOf(secured, reached, secured.alpnProtocol === 'h2' ? 'h2' : 'h1');
  } catch (error) {
    reached?.socket.destroy();
    reached?.bare.destroy();
    throw toDialFailure(error, origin, 'connecting');
  }
}

function linkOf(socket: Socket, { bare, address }: Reached, protocol: 'h1' | 'h2'): Link {
  return {
    socket,
    address: formatAddress(address),
    protocol,
    kill() {
      // The lowest one first: the layers above have something to say when they go.
      killSocket(bare);
      socket.destroy();
    },
  };
}
