import type { Socket } from 'node:net';

/** Beside the body of an answer: heads, chunk sizes, blank lines. */
const freeBytes = 1024 * 1024;
/** For each byte of the body: a chunk of one byte takes six. */
const perBodyByte = 8;
const lookMs = 500;

/**
 * Watch for an origin that sends without end what becomes no byte of an answer, such as blank lines before its head or an
 * extension of a chunk. No budget counts that and no reader slows it down, so it would keep the host as busy as its line can.
 *
 * For HTTP/1.1: of HTTP/2, Node.js bounds the frames that say nothing.
 *
 * @param bodyBytes of the answer, so far.
 * @returns how to stop watching.
 */
export function watchChatter(socket: Socket, bodyBytes: () => number, onTooMuch: () => void): () => void {
  const before = socket.bytesRead;
  const timer = setInterval(() => {
    if (socket.bytesRead - before > freeBytes + perBodyByte * bodyBytes()) onTooMuch();
  }, lookMs);
  timer.unref();
  return () => clearInterval(timer);
}
