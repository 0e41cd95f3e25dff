import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import type { TrialResult } from '@glovebox/engine';
import { beforeEach, describe, expect, it } from 'vitest';
import { type Origin, openRaw } from '../../packages/egress/test/origins.ts';
import { acceptOf } from '../../packages/guest/test/websocket.ts';
import { useHttpCells } from '../support/use-http-cells.ts';

/** Nodes in real cells that speak HTTP as libraries do, with origins over TLS whose CA only the dialer knows. */
const { identity, openOrigin, allow, run: runSource } = useHttpCells();

let origin: Origin;
let aborted = 0;
beforeEach(async () => {
  aborted = 0;
  origin = await openOrigin(serve);
});

function serve(request: IncomingMessage, response: ServerResponse): void {
  response.on('close', () => {
    if (!response.writableFinished) aborted++;
  });
  const path = request.url ?? '';
  if (path === '/bytes') response.end(Buffer.alloc(5_000_000, 'x'));
  else if (path === '/gzip') response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('plain'));
  else if (path === '/cookies') response.writeHead(200, { 'set-cookie': ['a=1; Path=/', 'b=2'] }).end();
  else if (path === '/redirect') response.writeHead(307, { location: '/echo' }).end();
  else if (path === '/outside') response.writeHead(302, { location: 'https://elsewhere.test/' }).end();
  else if (path === '/events') response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n');
  else {
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    const { host, 'user-agent': agent } = request.headers;
    request.on('end', () => response.end(JSON.stringify({ method: request.method, bytes, host, agent })));
  }
}

async function run(body: string, more: { top?: string; socketPort?: number } = {}): Promise<TrialResult> {
  const { top = '', socketPort = origin.port } = more;
  await allow(origin.port, socketPort);
  const rule = { host: 'origin.test', paths: ['/**'], reason: 'a test' };
  const rules = [
    { ...rule, port: origin.port, methods: ['GET', 'HEAD', 'POST', 'PUT'] },
    { ...rule, port: socketPort, methods: ['GET'], websocket: true },
  ];
  const manifest = {
    capabilities: { http: { rules, maxRequests: 500, maxResponseBytes: '64MiB' } },
    resources: { timeout: '60s' },
  };
  const input = { url: `https://origin.test:${origin.port}`, port: origin.port, socketPort };
  return runSource({ manifest, top, body }, { input });
}

describe('a node in a cell', () => {
  it('fetches, streams, follows and gives up, and its origin sees one Host and the whole of each body', async () => {
    const result = await run(`
      const { url } = ctx.input; const said = {};
      said.down = (await (await fetch(url + '/bytes')).arrayBuffer()).byteLength;
      said.up = (await (await fetch(url + '/echo', { method: 'PUT', body: new Uint8Array(5_000_000) })).json()).bytes;
      const form = new FormData(); form.set('a', new Blob(['x'.repeat(1000)])); said.form = (await (await fetch(url + '/echo', { method: 'POST', body: form })).json()).bytes > 1000;
      const gzip = await fetch(url + '/gzip'); said.gzip = [await gzip.text(), gzip.headers.get('content-encoding')];
      said.cookies = (await fetch(url + '/cookies')).headers.getSetCookie();
      said.redirect = (await (await fetch(url + '/redirect', { method: 'POST', body: 'kept' })).json()).bytes;
      said.host = (await (await fetch(url + '/echo', { headers: { host: 'evil.test' } })).json()).host;
      const c = new AbortController(); const events = await fetch(url + '/events', { signal: c.signal }); said.event = new TextDecoder().decode((await events.body.getReader().read()).value); c.abort();
      said.outside = await fetch(url + '/outside').catch((e) => [e.cause.code, e.cause.reason]);
      said.many = new Set(await Promise.all(Array.from({ length: 100 }, async () => (await fetch(url + '/echo')).status))).size;
      await new Promise((r) => setTimeout(r, 200));
      return said`);
    expect(result, JSON.stringify(result.error)).toMatchObject({
      state: 'SUCCEEDED',
      output: {
        down: 5_000_000,
        up: 5_000_000,
        form: true,
        gzip: ['plain', null],
        cookies: ['a=1; Path=/', 'b=2'],
        redirect: 4,
        host: `origin.test:${origin.port}`,
        event: 'data: 1\n\n',
        outside: ['EGRESS_DENIED', 'HOST_NOT_DECLARED'],
        many: 1,
      },
    });
    expect(aborted).toBe(1);
  });

  it('asks by node:https and by an agent of its own, and speaks WebSocket', async () => {
    const server = await openRaw((socket, head) => {
      const key = /sec-websocket-key: (.*)/i.exec(head)?.[1]?.trim() ?? '';
      const lines = ['HTTP/1.1 101 Switching Protocols', 'Upgrade: websocket', 'Connection: Upgrade'];
      socket.write(`${lines.join('\r\n')}\r\nSec-WebSocket-Accept: ${acceptOf(key)}\r\n\r\n`);
      socket.write(Buffer.from([0x81, 2, 0x68, 0x69]));
    }, identity);
    const result = await run(
      `
      const { port, socketPort } = ctx.input; const agent = new https.Agent({ keepAlive: true });
      const get = () => new Promise((resolve, reject) => https.get({ host: 'origin.test', port, path: '/echo', agent }, (res) => { let t = ''; res.on('data', (c) => (t += c)); res.on('end', () => resolve(JSON.parse(t).method)) }).on('error', reject));
      const said = [await get(), await get()];
      const ws = new WebSocket('wss://origin.test:' + socketPort + '/socket'); said.push(await new Promise((resolve, reject) => { ws.onmessage = (e) => resolve(e.data); ws.onerror = (e) => reject(e.error ?? new Error('ws')) })); ws.close();
      return said`,
      { top: `import https from 'node:https';`, socketPort: server.port },
    );
    expect(result, JSON.stringify(result.error)).toMatchObject({ state: 'SUCCEEDED', output: ['GET', 'GET', 'hi'] });
  });

  it('fails with the code, reason and patch of what it let through', async () => {
    expect(await run(`return (await fetch('https://elsewhere.test/x')).status`)).toMatchObject({
      state: 'FAILED',
      error: { code: 'EGRESS_DENIED', details: { reason: 'HOST_NOT_DECLARED', patch: { rules: expect.any(Array) } } },
    });
    expect(
      await run(`await new Promise((r, j) => net.connect(5432, 'origin.test').on('error', j).write('\\0\\0'))`, {
        top: `import net from 'node:net';`,
      }),
    ).toMatchObject({
      state: 'FAILED',
      error: { code: 'CELL_HTTP_ONLY' },
    });
  });
});
