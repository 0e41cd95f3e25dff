import type { Socket } from 'node:net';
import { dialFailure } from './dial-failure.ts';

/**
 * Every TCP socket of one scope, from before it connects until it is closed, whatever speaks on it.
 *
 * This list is what ending a scope rests on: not on what libraries do with the sockets that they were given.
 */
export interface DialSockets {
  /** @throws GloveboxError `EGRESS_DENIED` (`ATTEMPT_ENDED`) once all were killed; the socket is killed then, too. */
  add(socket: Socket): void;
  /** When this returns, none of them sends a byte any more. */
  killAll(): void;
}

export function openDialSockets(): DialSockets {
  const open = new Set<Socket>();
  let ended = false;
  return {
    add(socket) {
      // Nobody may be listening when it is killed.
      socket.on('error', () => {});
      if (ended) {
        killSocket(socket);
        throw scopeEnded();
      }
      open.add(socket);
      socket.once('close', () => open.delete(socket));
    },
    killAll() {
      ended = true;
      for (const socket of open) killSocket(socket);
      open.clear();
    },
  };
}

/**
 * Reset, not end: what lies in the kernel's buffer of a connection that is merely closed is still sent, and so are the last
 * words of TLS.
 */
export function killSocket(socket: Socket): void {
  // One that is still connecting would be reset only once it is connected.
  if (socket.connecting) socket.destroy();
  else socket.resetAndDestroy();
  socket.destroy();
}

export const scopeEnded = (): Error =>
  dialFailure('ATTEMPT_ENDED', 'The scope of this request has ended; nothing leaves any more.');
