import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { selfSigned } from './certificate.ts';

const identity = selfSigned(['a.test', 'b.test'], Date.now());
const server = createServer({ ...identity });
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => void server.close());

/** @returns `trusted`, or the code of what is wrong. */
const shake = (servername: string, ca: string): Promise<string> =>
  new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, servername, ca }, () => {
      resolve('trusted');
      socket.destroy();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''));
  });

it('is trusted for each of its names by who knows it, and by nobody else, and for no other name', async () => {
  expect([await shake('a.test', identity.cert), await shake('b.test', identity.cert)]).toEqual(['trusted', 'trusted']);
  expect(await shake('c.test', identity.cert)).toBe('ERR_TLS_CERT_ALTNAME_INVALID');
  expect(await shake('a.test', selfSigned(['a.test'], Date.now()).cert)).toBe('DEPTH_ZERO_SELF_SIGNED_CERT');
});

it('is valid for an hour', async () => {
  const hourMs = 3_600_000;
  const old = selfSigned(['a.test'], Date.now() - 2 * hourMs);
  server.setSecureContext(old);
  expect(await shake('a.test', old.cert)).toBe('CERT_HAS_EXPIRED');
});
