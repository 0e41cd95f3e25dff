import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openDialSockets } from './dial-sockets.ts';

let server: Server;
let port: number;
beforeAll(async () => {
  server = createServer((socket) => socket.on('error', () => {}));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  port = (server.address() as AddressInfo).port;
});
afterAll(() => server.close());

it('kills what is connected and what is still connecting, at once', async () => {
  const sockets = openDialSockets();
  const [connected, connecting] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  sockets.add(connected);
  await once(connected, 'connect');
  sockets.add(connecting);
  expect([connected.destroyed, connecting.destroyed]).toEqual([false, false]);
  sockets.killAll();
  expect([connected.destroyed, connecting.destroyed]).toEqual([true, true]);
});

it('takes no socket any more once all were killed: it is killed too', () => {
  const sockets = openDialSockets();
  sockets.killAll();
  const late = connect(port, '127.0.0.1');
  expect(() => sockets.add(late)).toThrow(expect.objectContaining({ code: 'EGRESS_DENIED' }));
  expect(late.destroyed).toBe(true);
});
