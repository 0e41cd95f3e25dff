import { once } from 'node:events';
import { defineNode } from '@glovebox/sdk';
import WebSocket, { createWebSocketStream, WebSocketServer } from 'ws';

const url = 'wss://stream.compat.test/echo';

const listening = async (): Promise<unknown> => once(new WebSocketServer({ port: 8080 }), 'listening');

export default defineNode<{ denied?: boolean }, unknown, unknown>(async (ctx) => {
  const open = async (where: string, protocols: string[] = []): Promise<WebSocket> => {
    const socket = new WebSocket(where, protocols);
    await once(socket, 'open');
    return socket;
  };
  if (ctx.input.denied) return (await open('wss://elsewhere.test/')).readyState;
  const socket = await open(url, ['chat']);
  const said = async (message: string | Buffer): Promise<Buffer> => {
    socket.send(message);
    return (await once(socket, 'message'))[0];
  };
  const text = `${await said('ä text')}`;
  const binary = (await said(Buffer.alloc(200_000, 1))).length;
  socket.ping('p');
  const [pong] = await once(socket, 'pong');
  socket.close(4000, 'enough');
  const [closeCode, closeReason] = await once(socket, 'close');
  const stream = createWebSocketStream(await open(url));
  stream.write('through a stream');
  const [first] = await once(stream, 'data');
  stream.end();
  stream.resume();
  await once(stream, 'close');
  const events = new globalThis.WebSocket(url);
  const builtIn = await new Promise((resolve, reject) => {
    events.onopen = () => events.send('built in');
    events.onmessage = ({ data }) => resolve(data);
    events.onerror = reject;
  });
  events.close();
  return {
    text,
    binary,
    protocol: socket.protocol,
    pong: `${pong}`,
    close: [closeCode, `${closeReason}`],
    stream: `${first}`,
    builtIn,
    server: await listening().then(
      () => 'listens',
      (error) => error.code,
    ),
    denied: await open('wss://elsewhere.test/').catch((error) => [error.code, error.reason]),
  };
});
