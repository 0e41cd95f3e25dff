import type { Socket } from 'node:net';
import { dialFailure } from './dial-failure.ts';

/**
 * Bytes both ways over a connection that speaks WebSocket, until the origin has ended it. The cell's end is half an end: what
 * the origin still says is passed on.
 *
 * @param up what the cell sends; the next chunk is pulled when the socket has taken the one before.
 * @param passDown reads to the end what the origin sends.
 * @param idleMs without a byte in either direction.
 * @throws GloveboxError `EGRESS_FAILED` reason `CONNECTION_LOST`, `EGRESS_TIMED_OUT` reason `IDLE_TIMED_OUT`, and whatever
 *   `up` or `passDown` throw.
 */
export async function relaySocket(
  socket: Socket,
  up: AsyncIterable<Uint8Array>,
  passDown: (down: AsyncIterable<Uint8Array>) => Promise<void>,
  idleMs: number,
): Promise<void> {
  socket.setTimeout(idleMs, () => {
    socket.destroy(dialFailure('IDLE_TIMED_OUT', `There was no byte either way within ${idleMs} ms.`));
  });
  let sending: unknown;
  const sent = sendUp(socket, up).catch((error: unknown) => {
    sending = error;
    socket.destroy();
  });
  await passDown(received(socket)).catch((error: unknown) => {
    throw sending ?? error;
  });
  if (sending !== undefined) throw sending;
  void sent;
}

async function sendUp(socket: Socket, up: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const chunk of up) await write(socket, chunk);
  socket.end();
}

function write(socket: Socket, chunk: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.write(chunk, (error) => (error ? reject(lost()) : resolve()));
  });
}

async function* received(socket: Socket): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of socket) yield chunk as Uint8Array;
  } catch (error) {
    throw (error as { name?: unknown } | null)?.name === 'GloveboxError' ? error : lost();
  }
}

const lost = () => dialFailure('CONNECTION_LOST', 'The connection was lost.');
