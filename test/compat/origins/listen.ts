import { randomInt } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer as createHttpServer } from 'node:http';
import { createSecureServer } from 'node:http2';
import { createServer as createHttpsServer } from 'node:https';
import type { Server, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Identity } from '../../../packages/egress/test/ca.ts';

/** A request that reached an origin, with all of its body. */
export interface Arrived {
  readonly method: string;
  /** By `Host`, or `:authority` where it came by HTTP/2. */
  readonly host: string;
  /** Path and query as they were sent. */
  readonly target: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: Buffer;
  readonly protocol: 'http' | 'https';
  readonly httpVersion: string;
}

export type Service = (request: Arrived, response: ServerResponse) => void;

/** An address of loopback that nobody else has in mind, so that the ports that the world uses are free on it. */
export const freeAddress = (): string => `127.${randomInt(1, 255)}.${randomInt(1, 255)}.${randomInt(2, 255)}`;

/** Servers on one address: each host has its service, as behind the load balancer of a provider. */
export interface Site {
  /** In order of arrival. */
  readonly arrived: readonly Arrived[];
  close(): Promise<void>;
}

/** HTTP/2 and HTTP/1.1 over TLS on port 443, and HTTP/1.1 in the clear on port 80. */
export async function openSite(
  address: string,
  identity: Identity,
  services: { readonly [host: string]: Service },
): Promise<Site> {
  const arrived: Arrived[] = [];
  const serve = (protocol: Arrived['protocol']) => (request: IncomingMessage, response: ServerResponse) => {
    response.on('error', () => {});
    take(request, protocol).then(
      (one) => {
        arrived.push(one);
        const service = services[one.host];
        if (service) service(one, response);
        else response.writeHead(421).end(`no ${one.host} here`);
      },
      () => response.destroy(),
    );
  };
  const closers = await Promise.all([
    listen(createSecureServer({ ...identity, allowHTTP1: true }, serve('https') as never), address, 443),
    listen(createHttpServer(serve('http')), address, 80),
  ]);
  return { arrived, close: async () => void (await Promise.all(closers.map((close) => close()))) };
}

/** HTTP/1.1 over TLS on port 443, for what takes connections over. */
export async function openUpgrades(
  address: string,
  identity: Identity,
  upgrade: (request: IncomingMessage, socket: Duplex) => void,
): Promise<() => Promise<void>> {
  const server = createHttpsServer(identity, (_request, response) => response.writeHead(426).end());
  server.on('upgrade', upgrade);
  return listen(server, address, 443);
}

async function take(request: IncomingMessage, protocol: Arrived['protocol']): Promise<Arrived> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { method = '', url: target = '', headers, httpVersion } = request;
  const host = String(headers[':authority'] ?? headers.host);
  const { pathname: path, searchParams: query } = new URL(target, 'https://origin.invalid');
  return { method, host, target, path, query, headers, body: Buffer.concat(chunks), protocol, httpVersion };
}

async function listen(server: Server, address: string, port: number): Promise<() => Promise<void>> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('tlsClientError', () => {});
  server.on('sessionError', () => {});
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, resolve);
  });
  return () =>
    new Promise((resolve) => {
      server.close(() => resolve());
      for (const socket of sockets) socket.destroy();
    });
}

export function sendJson(response: ServerResponse, value: unknown, status = 200, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
}
