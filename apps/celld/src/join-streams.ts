import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';

/**
 * Pass on what a cell writes. A client that does not read stops the cell at its own write, and nothing but it: no more is
 * held here than the buffers of the two streams. One that has gone is told to the cell as by a closed pipe.
 */
export function pourOut(from: Readable, socket: Socket): void {
  from.pipe(socket);
  // A pipe ends its target with its source, but not where that is torn down.
  from.once('close', () => socket.end());
  socket.once('close', () => from.destroy());
  if (from.destroyed) socket.end();
}

/** Pass on what a client writes. Once the cell takes no more, the rest is thrown away: its sender must not wait for ever. */
export function pourIn(socket: Socket, to: Writable): void {
  socket.pipe(to);
  const discard = (): void => {
    socket.unpipe(to);
    socket.resume();
  };
  to.once('close', discard);
  socket.once('close', () => to.destroy());
  if (to.destroyed) discard();
}

/** A stream on which a client has nothing to say but that it reads no more. */
export function expectSilence(socket: Socket, broken: () => void): void {
  socket.once('data', broken);
  socket.once('end', () => socket.destroy());
}
