import { connect as connectSocket, type Socket } from 'node:net';
import { formatAddress } from './address.ts';
import type { AddressBytes, Fence } from './api.ts';
import { pieceBytes } from './dial-body.ts';
import type { DialSockets } from './dial-sockets.ts';

/** As RFC 8305 has it: after this long without an answer the next address is tried beside the first. */
const nextAddressMs = 250;

const socketOptions = { noDelay: true, keepAlive: true, writableHighWaterMark: pieceBytes };

/** What each step of a new connection is subject to. */
export interface ConnectPermit {
  readonly sockets: DialSockets;
  /** Asked before whatever is sent, such as the first packet to each address: the steps before it may take long. */
  readonly fence: Fence;
  readonly signal: AbortSignal;
}

export interface Reached {
  readonly socket: Socket;
  /** The TCP socket below it: the same one, unless a proxy is spoken to by TLS. */
  readonly bare: Socket;
  readonly address: AddressBytes;
}

/**
 * Connect to one of these addresses, the earlier ones first: the next one when one fails, or is silent for 250 ms.
 *
 * Addresses, no names: between this and the judgement nothing is looked up again.
 *
 * @throws what the last socket or the fence threw, or the signal's reason; no socket of it is then left.
 */
export function raceAddresses(
  addresses: readonly AddressBytes[],
  port: number,
  { sockets, fence, signal }: ConnectPermit,
): Promise<Reached> {
  return new Promise((resolve, reject) => {
    const waiting = [...addresses];
    const pending = new Set<Socket>();
    let timer: NodeJS.Timeout | undefined;
    let failure: unknown = new Error('no address');

    const settle = (then: () => void): void => {
      clearTimeout(timer);
      waiting.length = 0;
      signal.removeEventListener('abort', onAbort);
      for (const socket of pending) socket.destroy();
      pending.clear();
      then();
    };
    const onAbort = (): void => settle(() => reject(signal.reason));
    const tryNext = (): void => {
      clearTimeout(timer);
      const address = waiting.shift();
      if (address === undefined) {
        if (pending.size === 0) settle(() => reject(failure));
        return;
      }
      try {
        fence();
      } catch (error) {
        settle(() => reject(error));
        return;
      }
      const socket = connectSocket({ host: formatAddress(address), port, ...socketOptions });
      pending.add(socket);
      socket.once('connect', () => {
        pending.delete(socket);
        settle(() => resolve({ socket, bare: socket, address }));
      });
      socket.once('error', (error) => {
        failure = error;
        if (pending.delete(socket)) tryNext();
      });
      try {
        sockets.add(socket);
      } catch (error) {
        settle(() => reject(error));
        return;
      }
      timer = setTimeout(tryNext, nextAddressMs);
    };

    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    tryNext();
  });
}
