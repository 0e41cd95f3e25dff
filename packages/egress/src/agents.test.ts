import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeCa, selfSigned, type TestCa } from '../test/ca.ts';
import { closeDialers, emptyZone, failure, loopbackOnly, openDialer, readText } from '../test/dialing.ts';
import { closeOrigins, openHttp1 } from '../test/origins.ts';
import type { Dialer } from './api.ts';
import { fixedResolver } from './resolver.ts';

let ca: TestCa;
beforeAll(() => {
  ca = makeCa();
});
afterEach(async () => {
  closeDialers();
  await closeOrigins();
});

type Agents = ReturnType<Dialer['agents']>;
const openAgents = (settings: Parameters<typeof openDialer>[0] = {}): Agents =>
  openDialer(settings).agents('registry', loopbackOnly);

/** As a library does that knows nothing of us. */
function get(url: string, agents: Agents, options: object = {}): Promise<string> {
  const isSecure = url.startsWith('https:');
  const make = isSecure ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    make(url, { agent: isSecure ? agents.https : agents.http, ...options }, (response) => resolve(readText(response)))
      .on('error', reject)
      .end();
  });
}

describe('agents', () => {
  it('serve the clients of Node.js, and keep connections', async () => {
    const plain = await openHttp1((_request, response) => void response.end('plain'));
    const secure = await openHttp1((_request, response) => void response.end('secure'), ca.issue(['DNS:origin.test']));
    const agents = openAgents({ extraCa: [ca.cert] });
    for (let nth = 0; nth < 3; nth++) {
      expect(await get(`http://origin.test:${plain.port}/`, agents)).toBe('plain');
      expect(await get(`https://origin.test:${secure.port}/`, agents)).toBe('secure');
    }
    expect([plain.connections, secure.connections]).toEqual([1, 1]);
  });

  it('refuse an address that is not allowed', async () => {
    const agents = openAgents({ resolver: fixedResolver({ 'origin.test': ['10.0.0.7'] }, emptyZone) });
    expect(await failure(get('http://origin.test/', agents))).toMatchObject({
      code: 'EGRESS_DENIED',
      reason: 'ADDRESS_NOT_PUBLIC',
    });
    expect(await failure(get('http://10.0.0.7/', agents))).toMatchObject({ reason: 'ADDRESS_NOT_PUBLIC' });
  });

  it('check the certificate for the host, whatever the client says', async () => {
    const wrong = await openHttp1((_request, response) => void response.end('x'), selfSigned(['DNS:origin.test']));
    const right = await openHttp1((_request, response) => void response.end('x'), ca.issue(['DNS:origin.test']));
    const agents = openAgents({ extraCa: [ca.cert] });
    const options = { rejectUnauthorized: false, servername: 'other.test', checkServerIdentity: () => undefined };
    expect(await failure(get(`https://origin.test:${wrong.port}/`, agents, options))).toMatchObject({
      reason: 'TLS_FAILED',
    });
    expect(await get(`https://origin.test:${right.port}/`, agents, options)).toBe('x');
    expect(right.serverNames).toEqual(['origin.test']);
  });

  it('show the certificate of a client that has one', async () => {
    const server = { ...ca.issue(['DNS:origin.test']), requestCert: true, rejectUnauthorized: false, ca: ca.cert };
    const { port } = await openHttp1((request, response) => {
      response.end(String((request.socket as unknown as { authorized: boolean }).authorized));
    }, server);
    const agents = openAgents({ extraCa: [ca.cert] });
    expect(await get(`https://origin.test:${port}/`, agents, { ...ca.issue(['DNS:client.test']) })).toBe('true');
    expect(await get(`https://origin.test:${port}/`, openAgents({ extraCa: [ca.cert] }))).toBe('false');
  });

  it('let nothing leave once they have ended', async () => {
    const origin = await openHttp1(() => {});
    const agents = openAgents();
    const waiting = get(`http://origin.test:${origin.port}/`, agents).catch(() => 'ended');
    await expect.poll(() => origin.seen.length).toBe(1);
    agents.destroy();
    expect(await waiting).toBe('ended');
    await failure(get(`http://origin.test:${origin.port}/`, agents));
    expect(origin.connections).toBe(1);
  });
});
