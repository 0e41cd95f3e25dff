import type { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';

/** How a stream of a cell came to its end: all of it was passed on, or not. */
export type Outcome = 'drained' | 'cut';

const idle = (): void => {};

/**
 * Keep what a cell writes until somebody is attached to it: Node.js throws away what nobody reads of a process that has
 * ended, but not where somebody listens.
 */
export const keepUnread = (from: Readable): void => void from.on('readable', idle);

/**
 * Pass on what a cell writes. A client that does not read stops the cell at its own write, and nothing but it: no more is
 * held here than the buffers of the two streams. One that has gone is told to the cell as by a closed pipe.
 *
 * @param done called once, unless the client closes first: `drained` when the kernel has all of it, to its end.
 */
export function pourOut(from: Readable, socket: Socket, done: (outcome: Outcome) => void): void {
  from.off('readable', idle);
  if (socket.destroyed) {
    from.destroy();
    return;
  }
  // A pipe ends its target with its source, but not where that is torn down.
  const tornDown = (): void => {
    if (from.readableEnded || socket.destroyed) return;
    done('cut');
    socket.destroy();
  };
  socket.once('finish', () => done('drained'));
  socket.once('close', () => from.destroy());
  from.once('close', tornDown);
  from.pipe(socket);
  if (from.destroyed) tornDown();
}

/** Pass on what a client writes. Once the cell takes no more, the rest is thrown away: its sender must not wait for ever. */
export function pourIn(socket: Socket, to: Writable): void {
  const discard = (): void => {
    socket.unpipe(to);
    socket.resume();
  };
  socket.once('close', () => to.destroy());
  to.once('close', discard);
  socket.pipe(to);
  if (socket.destroyed) to.destroy();
  if (to.destroyed) discard();
}

/** A stream on which a client has nothing to say but that it reads no more. */
export function expectSilence(socket: Socket, broken: () => void): void {
  socket.once('data', broken);
  // It may have gone before there was a cell.
  if (socket.readableEnded) socket.destroy();
  else socket.once('end', () => socket.destroy());
}
