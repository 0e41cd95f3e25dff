import { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { uncurryThis } from './primordials.ts';

/** The descriptor that a cell's channel is on. */
const channelFd = 3;

/**
 * Adopt the channel's descriptor, and then give up the permission that this takes: author code finds no network
 * permission. (That there is no network is the cell's doing, not this.)
 */
export function adoptChannel(): Socket {
  const socket = new Socket({ fd: channelFd, readable: true, writable: true });
  // Socket's own `read` looks its parent's up on every call, where author code may have put another.
  const read = uncurryThis(Readable.prototype.read);
  socket.read = (size) => read(socket, size);
  process.permission?.drop('net');
  return socket;
}
