import { type AddressInfo, connect as connectSocket, createServer, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type Identity, makeCa, type TestCa } from '../test/ca.ts';
import { ask, closeDialers, emptyZone, failure, openScope, readText, reasonOf } from '../test/dialing.ts';
import { closeOrigins, openHttp1, openHttp2 } from '../test/origins.ts';
import { dialFailure } from './dial-failure.ts';
import { openProxy } from './proxy.ts';
import { fixedResolver } from './resolver.ts';

let ca: TestCa;
const proxies: Server[] = [];
beforeAll(() => {
  ca = makeCa();
});
afterEach(async () => {
  closeDialers();
  await closeOrigins();
  for (const proxy of proxies.splice(0)) proxy.close();
});

/** A proxy that connects to whatever it is asked for, or answers something else. */
async function openTunnels(answer?: string, identity?: Identity): Promise<{ port: number; heads: string[] }> {
  const heads: string[] = [];
  const onSocket = (socket: Socket): void => {
    socket.on('error', () => {});
    socket.once('data', (head: Buffer) => {
      heads.push(head.toString('latin1'));
      if (answer !== undefined) return void socket.end(answer);
      const [, host, port] = /^CONNECT \[?([^\s\]]+?)\]?:(\d+) /.exec(head.toString('latin1')) ?? [];
      const upstream = connectSocket(Number(port), host ?? '', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        socket.pipe(upstream).pipe(socket);
      });
      upstream.on('error', () => socket.destroy());
      socket.on('close', () => upstream.destroy());
    });
  };
  const server = identity === undefined ? createServer(onSocket) : createTlsServer({ ...identity }, onSocket);
  proxies.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, heads };
}

describe('behind a proxy', () => {
  it.each(['http', 'https'] as const)('a request by %s goes through a tunnel to the judged address', async (scheme) => {
    const origin =
      scheme === 'http'
        ? await openHttp1((_request, response) => void response.end('ok'))
        : await openHttp2((_request, response) => void response.end('ok'), ca.issue(['DNS:origin.test']));
    const { port, heads } = await openTunnels();
    const scope = openScope({ extraCa: [ca.cert], proxy: `http://127.0.0.1:${port}` });
    const answer = await scope.request(ask(`${scheme}://origin.test:${origin.port}/a?secret=1`));
    expect(await readText(answer.body)).toBe('ok');
    expect(answer.address).toBe('127.0.0.1');
    expect(heads).toHaveLength(1);
    expect(heads[0]).toContain(`CONNECT 127.0.0.1:${origin.port} HTTP/1.1\r\n`);
    expect(heads[0]).not.toContain('origin.test');
    expect(heads[0]).not.toContain('secret');
    expect(origin.seen[0]?.headers['proxy-authorization']).toBeUndefined();
  });

  it('an address that is refused is not asked for', async () => {
    const { port, heads } = await openTunnels();
    const resolver = fixedResolver({ 'origin.test': ['10.0.0.7'] }, emptyZone);
    const scope = openScope({ resolver, proxy: `http://127.0.0.1:${port}` });
    expect(await reasonOf(scope.request(ask('http://origin.test/')))).toBe('ADDRESS_NOT_PUBLIC');
    expect(heads).toEqual([]);
  });

  it('the proxy may be spoken to by TLS, and gets its credentials', async () => {
    const origin = await openHttp1((_request, response) => void response.end('ok'), ca.issue(['DNS:origin.test']));
    const { port, heads } = await openTunnels(undefined, ca.issue(['IP:127.0.0.1']));
    const scope = openScope({ extraCa: [ca.cert], proxy: `https://user:p%40ss@127.0.0.1:${port}` });
    expect(await readText((await scope.request(ask(`https://origin.test:${origin.port}/`))).body)).toBe('ok');
    expect(heads[0]).toContain(`proxy-authorization: Basic ${Buffer.from('user:p@ss').toString('base64')}\r\n`);
  });

  it('the next address is asked for where there is no way to the first', async () => {
    const origin = await openHttp1((_request, response) => void response.end('ok'));
    const { port, heads } = await openTunnels();
    const resolver = fixedResolver({ 'origin.test': ['127.0.0.9', '127.0.0.1'] }, emptyZone);
    const answer = await openScope({ resolver, proxy: `http://127.0.0.1:${port}` }).request(
      ask(`http://origin.test:${origin.port}/`),
    );
    expect(answer.address).toBe('127.0.0.1');
    expect(heads).toHaveLength(2);
  });

  it.each([
    ['refuses', 'HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n'],
    ['wants other credentials', 'HTTP/1.1 407 Who\r\nproxy-authenticate: Basic\r\n\r\n'],
    ['speaks no HTTP', 'SSH-2.0-x\r\n'],
    ['says nothing and leaves', ''],
  ])('fails when the proxy %s, and tells no credential', async (_what, answer) => {
    const { port } = await openTunnels(answer);
    const scope = openScope({ proxy: `http://someone:canary-secret@127.0.0.1:${port}` });
    const { code, reason, error } = await failure(scope.request(ask('http://origin.test/')));
    expect({ code, reason }).toEqual({ code: 'EGRESS_FAILED', reason: 'PROXY_FAILED' });
    expect(JSON.stringify(error.toData()) + String(error.stack)).not.toMatch(/canary|c29tZW9uZ/);
  });

  it('fails when the proxy has no certificate that counts, and tells nobody which host it is on', async () => {
    const { port, heads } = await openTunnels(undefined, ca.issue(['DNS:proxy.inside.test']));
    const resolver = fixedResolver({ 'origin.test': ['127.0.0.1'], 'canary.inside.test': ['127.0.0.1'] }, emptyZone);
    const scope = openScope({ resolver, extraCa: [ca.cert], proxy: `https://canary.inside.test:${port}` });
    const { reason, error } = await failure(scope.request(ask('https://origin.test/')));
    expect(reason).toBe('PROXY_FAILED');
    expect(JSON.stringify(error.toData()) + String(error.stack)).not.toContain('inside.test');
    expect(heads).toEqual([]);
  });

  it('nothing is asked of it after the fence has closed, nor is it connected to again', async () => {
    const { port, heads } = await openTunnels();
    const resolver = fixedResolver({ 'origin.test': ['127.0.0.1', '127.0.0.2'] }, emptyZone);
    const scope = openScope({ resolver, proxy: `http://127.0.0.1:${port}` });
    // For the request, for the connection, for this address, for the proxy's own; closed when it has been reached.
    let asked = 0;
    const fence = (): void => {
      if (++asked > 4) throw dialFailure('ATTEMPT_ENDED', 'it has ended.');
    };
    expect(await reasonOf(scope.request(ask('http://origin.test/', { fence })))).toBe('ATTEMPT_ENDED');
    expect(heads).toEqual([]);
  });

  it('fails when nobody listens there', async () => {
    const { port } = await openTunnels();
    for (const proxy of proxies.splice(0)) await new Promise((resolve) => proxy.close(resolve));
    const scope = openScope({ proxy: `http://127.0.0.1:${port}` });
    expect(await reasonOf(scope.request(ask('http://origin.test/')))).toBe('PROXY_FAILED');
  });

  it('the deadline of the connection counts for the proxy as well', async () => {
    const server = createServer(() => {});
    proxies.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const scope = openScope({ proxy: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    const request = ask('http://origin.test/', { timeouts: { connect: 200 } });
    expect(await reasonOf(scope.request(request))).toBe('CONNECT_TIMED_OUT');
  });
});

it.each(['not a URL', 'socks5://127.0.0.1:1080', 'ftp://user:canary@proxy.test'])('takes no proxy from %s', (url) => {
  expect(() => openProxy(url)).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.not.stringContaining('canary') }),
  );
});
