import dgram from 'node:dgram';
import dns from 'node:dns/promises';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import os from 'node:os';
import { defineNode } from '@glovebox/sdk';

interface Input {
  tcpPort: number;
  udpPort: number;
  unixPath: string;
  secret: string;
}

const patienceMs = 1500;

export default defineNode<Input, object, object>(async (ctx) => {
  const { tcpPort, udpPort, unixPath, secret } = ctx.input;
  const ways: Record<string, () => Promise<unknown>> = {
    'tcp 127.0.0.1': () => connect({ host: '127.0.0.1', port: tcpPort }, secret),
    'tcp ::1': () => connect({ host: '::1', port: tcpPort }, secret),
    'tcp localhost': () => connect({ host: 'localhost', port: tcpPort }, secret),
    'tcp 0.0.0.0': () => connect({ host: '0.0.0.0', port: tcpPort }, secret),
    'tcp metadata': () => connect({ host: '169.254.169.254', port: 80 }, secret),
    'socket object': () =>
      new Promise((resolve, reject) => {
        const socket = new net.Socket();
        socket.once('error', reject);
        socket.connect(tcpPort, '127.0.0.1', () => resolve(socket.end(secret)));
      }),
    'udp send': () => send(udpPort, secret),
    'udp dns': () => send(53, secret),
    'dns lookup': () => dns.lookup(`${secret}.example.com`),
    'dns resolve': () => new dns.Resolver({ timeout: 500, tries: 1 }).resolve4(`${secret}.example.com`),
    fetch: () => fetch(`http://127.0.0.1:${tcpPort}/${secret}`, { signal: AbortSignal.timeout(patienceMs) }),
    http: () => request(http.get(`http://127.0.0.1:${tcpPort}/${secret}`)),
    https: () => request(https.get(`https://127.0.0.1:${tcpPort}/${secret}`)),
    http2: () =>
      new Promise((resolve, reject) => {
        const session = http2.connect(`http://127.0.0.1:${tcpPort}`);
        session.once('error', reject);
        session.once('connect', resolve);
      }),
    websocket: () =>
      new Promise((resolve, reject) => {
        const socket = new WebSocket(`ws://127.0.0.1:${tcpPort}/${secret}`);
        socket.onopen = resolve;
        socket.onerror = () => reject(new Error('refused'));
      }),
    'unix path': () => connect({ path: unixPath }, secret),
    'unix engine': () => connect({ path: '/var/run/docker.sock' }, secret),
    'unix abstract': () => connect({ path: '\0glovebox-demo' }, secret),
    listen: () =>
      new Promise((resolve, reject) => {
        const server = net.createServer();
        server.once('error', reject);
        server.listen(0, () => resolve(server.close()));
      }),
    interfaces: async () => {
      const outside = Object.keys(os.networkInterfaces()).filter((name) => name !== 'lo');
      if (outside.length === 0) throw new Error('none but lo');
      return outside;
    },
  };
  const reached: string[] = [];
  const refused: Record<string, string> = {};
  for (const [name, way] of Object.entries(ways)) {
    try {
      await withPatience(way());
      reached.push(name);
    } catch (error) {
      refused[name] = (error as NodeJS.ErrnoException).code ?? String((error as Error).message ?? error).slice(0, 80);
    }
  }
  ctx.log.info('tried', { ways: Object.keys(ways).length, reached });
  return { tried: Object.keys(ways).length, reached, refused };
});

async function withPatience<T>(attempt: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), patienceMs);
  });
  try {
    return await Promise.race([attempt, late]);
  } finally {
    clearTimeout(timer);
  }
}

function connect(target: net.NetConnectOpts, secret: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(target);
    socket.once('error', reject);
    socket.once('connect', () => resolve(socket.end(secret)));
  });
}

function send(port: number, secret: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const socket = dgram.createSocket('udp4');
    socket.once('error', reject);
    socket.send(secret, port, '127.0.0.1', (error) => (error ? reject(error) : resolve(socket.close())));
  });
}

function request(outgoing: http.ClientRequest): Promise<unknown> {
  return new Promise((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('response', resolve);
  });
}
