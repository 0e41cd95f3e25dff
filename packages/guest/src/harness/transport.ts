import { Socket } from 'node:net';

/** The descriptor that a cell's channel is on. */
const channelFd = 3;

/**
 * Adopt the channel's descriptor, and then give up the permission that this takes: author code finds no network
 * permission. (That there is no network is the cell's doing, not this.)
 */
export function adoptChannel(): Socket {
  const socket = new Socket({ fd: channelFd, readable: true, writable: true });
  process.permission?.drop('net');
  return socket;
}
