import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RunningEngine } from './engine-process.ts';

/** PEM text. */
export interface ClientIdentity {
  ca: string;
  cert: string;
  key: string;
}

/** Where an engine listens, and who may speak to it. */
export interface EngineTls extends ClientIdentity {
  host: string;
  port: number;
  /** It trusts the engine, but its certificate is of another authority. */
  stranger: ClientIdentity;
}

/** In the engine's own network namespace. */
export const tlsPort = 2376;

/** For one engine: an authority, its server and its client, and a stranger with a certificate of nobody. */
export function makeEngineCertificates(home: string): void {
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { cwd: home, stdio: 'ignore' });
  const selfSigned = (name: string, ...more: string[]): void =>
    openssl(
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`],
      ...['-keyout', `${name}.key`, '-out', `${name}.pem`, ...more],
    );
  const signed = (name: string, extensions: string): void => {
    openssl(
      'req',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-subj',
      `/CN=${name}`,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
    );
    writeFileSync(join(home, `${name}.ext`), extensions);
    openssl(
      ...['x509', '-req', '-days', '2', '-in', `${name}.csr`, '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial'],
      ...['-extfile', `${name}.ext`, '-out', `${name}.pem`],
    );
  };
  selfSigned('ca');
  // The last name is one that clients say in their header Host and nobody has asked for.
  signed('server', 'subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:glovebox\nextendedKeyUsage=serverAuth\n');
  signed('client', 'extendedKeyUsage=clientAuth\n');
  selfSigned('stranger');
}

/**
 * The engine listens in its own network namespace, where nobody outside can connect. Two relays carry the bytes as they are,
 * one in that namespace and one here, with a socket of the file system between them; TLS is between engine and client.
 */
export async function openTlsDoor(engine: RunningEngine): Promise<{ client: EngineTls; close(): Promise<void> }> {
  const between = join(engine.home, 'door');
  const relay = engine.spawn([process.execPath, '--eval', relayProgram, between, String(tlsPort)]);
  for (let tries = 0; !existsSync(between); tries++) {
    if (tries > 500) throw new Error('the relay to the engine does not start');
    await sleep(20);
  }
  const sockets = new Set<Socket>();
  const server = createServer((outside) => {
    const inside = connect(between);
    for (const [socket, other] of [
      [outside, inside],
      [inside, outside],
    ] as const) {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket)).on('error', () => other.destroy());
      socket.pipe(other);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const pem = (name: string): string => readFileSync(join(engine.home, name), 'utf8');
  const identity = (name: string): ClientIdentity => ({
    ca: pem('ca.pem'),
    cert: pem(`${name}.pem`),
    key: pem(`${name}.key`),
  });
  return {
    client: {
      host: '127.0.0.1',
      port: (server.address() as AddressInfo).port,
      ...identity('client'),
      stranger: identity('stranger'),
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      relay.kill('SIGKILL');
      await once(server, 'close');
    },
  };
}

const relayProgram = `
const net = require('node:net');
const [path, port] = process.argv.slice(1);
net.createServer({ allowHalfOpen: true }, (a) => {
  const b = net.connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true });
  a.pipe(b).pipe(a);
  a.on('error', () => b.destroy());
  b.on('error', () => a.destroy());
}).listen(path);
`;
