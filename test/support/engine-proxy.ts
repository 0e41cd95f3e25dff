import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A request as it came, whole. `json` is there where the body is JSON. */
export interface EngineRequestSeen {
  method: string;
  /** Without the version and the query. */
  path: string;
  headers: http.IncomingHttpHeaders;
  text: string;
  json: unknown;
}

export interface EngineAnswerMade {
  status: number;
  json: unknown;
}

/** What a proxy makes of what passes. What is left out changes nothing. */
export interface EngineLies {
  /** What the engine is told in place of a request's JSON. */
  request?(seen: EngineRequestSeen): unknown;
  /** What the client is told in place of the engine's JSON. */
  answer?(seen: EngineRequestSeen, answer: EngineAnswerMade): EngineAnswerMade;
  /** Answered without asking the engine; undefined for what is passed on. */
  instead?(seen: EngineRequestSeen): EngineAnswerMade | undefined;
}

/** Something that stands before a real engine, as a proxy for access control may, or an attacker. */
export interface EngineProxy {
  socketPath: string;
  /** What was asked of it, in order; attached connections too. */
  seen: EngineRequestSeen[];
  /** Break off every connection, of both sides. */
  cut(): void;
  close(): Promise<void>;
}

/** Bodies that are collected and may be changed; an image passes as it comes. */
const isJson = (headers: http.IncomingHttpHeaders): boolean => /json/.test(headers['content-type'] ?? '');

export async function openEngineProxy(engineSocket: string, lies: EngineLies = {}): Promise<EngineProxy> {
  const home = mkdtempSync(join(tmpdir(), 'gb-proxy-'));
  const socketPath = join(home, 'sock');
  const seen: EngineRequestSeen[] = [];
  const sockets = new Set<Socket>();
  const watch = (socket: Socket): void => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
  };

  const server = http.createServer((incoming, outgoing) => {
    void pass(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.on('connection', watch);

  const pass = async (incoming: http.IncomingMessage, outgoing: http.ServerResponse): Promise<void> => {
    const streamed = !isJson(incoming.headers) && incoming.headers['transfer-encoding'] !== undefined;
    const request = requestOf(incoming, streamed ? '' : await textOf(incoming));
    seen.push(request);
    const made = lies.instead?.(request);
    if (made !== undefined) {
      incoming.resume();
      return send(outgoing, made);
    }
    const changed = request.json === undefined ? undefined : lies.request?.(request);
    const body = changed === undefined ? request.text : JSON.stringify(changed);
    const headers = { ...incoming.headers };
    if (!streamed && (body !== '' || headers['content-length'] !== undefined))
      headers['content-length'] = String(Buffer.byteLength(body));
    const upstream = http.request({
      socketPath: engineSocket,
      method: request.method,
      path: incoming.url ?? '/',
      headers,
      agent: false,
    });
    upstream.on('socket', watch);
    upstream.on('error', () => outgoing.destroy());
    outgoing.on('close', () => upstream.destroy());
    upstream.on('response', (response) => void answer(request, response, outgoing).catch(() => outgoing.destroy()));
    if (streamed) incoming.pipe(upstream);
    else upstream.end(body);
  };

  const answer = async (
    request: EngineRequestSeen,
    response: http.IncomingMessage,
    outgoing: http.ServerResponse,
  ): Promise<void> => {
    const status = response.statusCode ?? 0;
    if (lies.answer === undefined || !isJson(response.headers) || /\/wait$/.test(request.path)) {
      outgoing.writeHead(status, response.headers);
      outgoing.flushHeaders();
      response.on('error', () => outgoing.destroy());
      response.pipe(outgoing);
      return;
    }
    send(outgoing, lies.answer(request, { status, json: parsed(await textOf(response)) }), response.headers);
  };

  server.on('upgrade', (incoming, client: Socket, head) => {
    seen.push(requestOf(incoming, ''));
    const upstream = connect(engineSocket);
    watch(upstream);
    const lines = Object.entries(incoming.headers).map(([name, value]) => `${name}: ${String(value)}`);
    upstream.write([`${incoming.method} ${incoming.url} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
    upstream.write(head);
    upstream.pipe(client);
    client.pipe(upstream);
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
  });

  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  server.listen(socketPath);
  await once(server, 'listening');
  return {
    socketPath,
    seen,
    cut,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      cut();
      await closed;
      rmSync(home, { recursive: true });
    },
  };
}

function requestOf(incoming: http.IncomingMessage, text: string): EngineRequestSeen {
  return {
    method: incoming.method ?? '',
    path: (incoming.url ?? '').replace(/^\/v[\d.]+(?=\/)/, '').replace(/\?.*$/, ''),
    headers: incoming.headers,
    text,
    json: isJson(incoming.headers) ? parsed(text) : undefined,
  };
}

function send(
  outgoing: http.ServerResponse,
  { status, json }: EngineAnswerMade,
  headers: http.OutgoingHttpHeaders = {},
): void {
  const text = json === undefined ? '' : JSON.stringify(json);
  const { 'transfer-encoding': _, ...kept } = headers;
  outgoing.writeHead(status, {
    ...kept,
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(text)),
  });
  outgoing.end(text);
}

async function textOf(message: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
