import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Identity } from './ca.ts';

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** A server on loopback that counts what reaches it. */
export interface Origin {
  readonly port: number;
  /** TCP connections that were made to it. */
  readonly connections: number;
  readonly sockets: ReadonlySet<Socket>;
  /** Heads of the requests that came, in order. */
  readonly seen: readonly { method: string; url: string; headers: NodeJS.Dict<string | string[]>; version: string }[];
  /** Names that clients asked for by SNI; false where none did. */
  readonly serverNames: readonly (string | false)[];
  close(): Promise<void>;
}

const opened: Origin[] = [];

/** For `afterEach`. */
export async function closeOrigins(): Promise<void> {
  await Promise.all(opened.splice(0).map((origin) => origin.close()));
}

/** HTTP/1.1 in the clear, or over TLS with an identity. */
export function openHttp1(handler: Handler, identity?: Identity): Promise<Origin> {
  const { seen, handle } = recorder(handler);
  const server = identity === undefined ? createHttpServer(handle) : createHttpsServer({ ...identity }, handle);
  return listen(server, seen);
}

/** HTTP/2 and HTTP/1.1 over TLS, as the client wants it. */
export function openHttp2(handler: Handler, identity: Identity): Promise<Origin> {
  const { seen, handle } = recorder(handler);
  return listen(createSecureServer({ ...identity, allowHTTP1: true }, handle as never), seen);
}

/**
 * A server that says on each connection whatever a test wants, HTTP or not.
 *
 * @param speak called with the first bytes of the client, which for a request without a body are its head.
 */
export function openRaw(
  speak: (socket: Socket, head: string, nth: number) => void,
  identity?: Identity,
): Promise<Origin> {
  let count = 0;
  const onSocket = (socket: Socket): void => {
    const nth = ++count;
    socket.on('error', () => {});
    socket.once('data', (head: Buffer) => speak(socket, head.toString('latin1'), nth));
  };
  const server =
    identity === undefined
      ? createTcpServer(onSocket)
      : createTlsServer({ ...identity, ALPNProtocols: ['http/1.1'] }, onSocket);
  return listen(server, []);
}

function recorder(handler: Handler) {
  const seen: { method: string; url: string; headers: NodeJS.Dict<string | string[]>; version: string }[] = [];
  const handle: Handler = (request, response) => {
    seen.push({
      method: request.method ?? '',
      url: request.url ?? '',
      headers: request.headers,
      version: request.httpVersion,
    });
    request.on('error', () => {});
    response.on('error', () => {});
    handler(request, response);
  };
  return { seen, handle };
}

async function listen(server: Server, seen: Origin['seen']): Promise<Origin> {
  const sockets = new Set<Socket>();
  const serverNames: (string | false)[] = [];
  let connections = 0;
  server.on('connection', (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('secureConnection', (socket: { servername: string | false }) => serverNames.push(socket.servername));
  server.on('tlsClientError', () => {});
  server.on('sessionError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin: Origin = {
    port: (server.address() as AddressInfo).port,
    get connections() {
      return connections;
    },
    sockets,
    seen,
    serverNames,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
  opened.push(origin);
  return origin;
}
