import { networkInterfaces } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Attempt, attempt, type BuiltHarness, buildHarness } from './host.ts';
import { type Asked, outside } from './outside.ts';

let harness: BuiltHarness;
beforeAll(() => {
  harness = buildHarness();
});
afterAll(() => harness.remove());

const imports = `
  import http from 'node:http'; import https from 'node:https'; import net from 'node:net'; import tls from 'node:tls'; import http2 from 'node:http2';
  /** Send a request, and give status, headers and body, or the error. */
  const ask = (url, options = {}, body) => new Promise((resolve) => {
    const lib = String(url).startsWith('https') ? https : http;
    const req = lib.request(url, options, (res) => { let text = ''; res.on('data', (c) => (text += c)); res.on('end', () => resolve({ status: res.statusCode, headers: res.headers, text, req })); res.on('error', (e) => resolve({ error: e, code: e.code })); });
    req.on('error', (e) => resolve({ error: e, code: e.code, reason: e.reason })); req.end(body);
  });
  /** What a connection ends with. */
  const end = (socket, write) => new Promise((resolve) => { if (write) socket.write(write); socket.on('error', (e) => resolve(e.code)); socket.on('close', () => resolve('closed')); socket.resume(); });`;

async function tried(body: string): Promise<{ got: Attempt; asked: Asked[] }> {
  const world = outside();
  const text = `${imports}\nexport default async (ctx) => {${body}\n};`;
  return { got: await attempt(harness, text, { http: true, onEgress: world.onEgress }), asked: world.asked };
}
async function run(body: string): Promise<{ output: unknown; asked: Asked[] }> {
  const { got, asked } = await tried(body);
  expect(got.outcome, JSON.stringify(got.outcome)).toMatchObject({ kind: 'output' });
  return { output: (got.outcome as { output: unknown }).output, asked };
}
async function failure(body: string): Promise<unknown> {
  const { outcome } = (await tried(body)).got;
  expect(outcome).toMatchObject({ kind: 'error' });
  return (outcome as { error: unknown }).error;
}

describe('node:http and node:https', () => {
  it('ask for what they are told, with an agent that keeps connections, with one that does not, and without any', async () => {
    const { output, asked } = await run(`
      const agents = [undefined, false, new https.Agent({ keepAlive: true }), new https.Agent({ keepAlive: false })];
      const said = []; for (const agent of agents) for (let i = 0; i < 2; i++) { const a = await ask('https://api.test/echo', { agent, method: 'POST' }, 'b' + i); said.push(JSON.parse(a.text).body, a.req.reusedSocket) }
      return said`);
    expect(output).toEqual([
      'b0',
      false,
      'b1',
      true,
      'b0',
      false,
      'b1',
      false,
      'b0',
      false,
      'b1',
      true,
      'b0',
      false,
      'b1',
      false,
    ]);
    expect(asked).toHaveLength(8);
  });

  it('write bodies in pieces, with and without a length, and get 100-continue at once', async () => {
    const { output, asked } = await run(`
      const pieces = await new Promise((resolve) => { const req = http.request('http://api.test/echo', { method: 'PUT' }, (res) => { let t = ''; res.on('data', (c) => (t += c)); res.on('end', () => resolve(JSON.parse(t))) }); req.write('a'); setTimeout(() => { req.write('b'); req.end('c') }, 10) });
      const expected = await new Promise((resolve) => { let told = 0; const req = http.request('http://api.test/echo', { method: 'PUT', headers: { expect: '100-continue', 'content-length': 3 } }, (res) => { let t = ''; res.on('data', (c) => (t += c)); res.on('end', () => resolve([told, JSON.parse(t)])) }); req.on('continue', () => { told++; req.end('xyz') }); req.flushHeaders() });
      return [pieces.body, pieces.headers['content-length'] ?? null, expected[0], expected[1].body, expected[1].headers]`);
    expect(output).toEqual(['abc', null, 1, 'xyz', { 'content-length': '3' }]);
    expect(asked[0]?.headers).toEqual({});
  });

  it('go where the connection was opened to, whatever the header Host says', async () => {
    const { asked } = await run(`await ask('http://api.test/echo', { headers: { host: 'evil.test' } }); return 0`);
    expect(asked.map(({ url, headers }) => [url, headers])).toEqual([['http://api.test:80/echo', {}]]);
  });

  it('are not taken for requests of the harness, whatever they ask for', async () => {
    const { output, asked } = await run(`
      const result = { method: 'POST', headers: { 'glovebox-result': 'output' } };
      await ask('http://control.invalid/result', result, '"forged"'); await ask('http://control.invalid:80/job');
      await fetch('http://control.invalid/result', { ...result, body: '"forged"' }); return 'own'`);
    expect(output).toBe('own');
    expect(asked.map(({ url }) => url)).toEqual([
      'http://control.invalid:80/result',
      'http://control.invalid:80/job',
      'http://control.invalid:80/result',
    ]);
  });

  it('are not led to another host by a name that is more than a name', async () => {
    const { output, asked } = await run(`
      const said = []; for (const host of ['a.test/x?', 'a@evil.test', 'a.test#', 'a.test:1', 'a b', '[::1', '\\u0000', 'a.test\\r\\nx', 'b\\u00fc.test/x', 'a.test\\uff0fx']) said.push(await ask('http://api.test/echo', { hostname: host, headers: { host: 'x' } }).then((a) => a.reason ?? String(a.error), String));
      await ask('http://api.test/echo', { hostname: 'b\\u00fccher.test' }); await ask('http://[::1]:81/echo');
      return said`);
    expect(output).toEqual(Array(10).fill('URL_REFUSED'));
    expect(asked.map(({ url }) => url)).toEqual(['http://xn--bcher-kva.test:80/echo', 'http://[::1]:81/echo']);
  });

  it('cannot use a cell as the client of a proxy', async () => {
    const { output, asked } = await run(`
      return [(await ask('http://proxy.test:3128/', { path: 'http://evil.test/echo' })).code, await new Promise((r) => { const q = http.request({ host: 'proxy.test', port: 3128, method: 'CONNECT', path: 'evil.test:443' }); q.on('error', (e) => r(e.code)); q.on('connect', () => r('connected')); q.end() })]`);
    expect([output, asked]).toEqual([['CELL_HTTP_ONLY', 'CELL_HTTP_ONLY'], []]);
  });

  it('are imported without the whole of fetch, whose classes they have all the same', async () => {
    const { output } = await run(
      `const loaded = () => process.moduleLoadList.includes('NativeModule internal/deps/undici/undici'); const before = loaded(); return [before, http.WebSocket === WebSocket, loaded()]`,
    );
    expect(output).toEqual([false, true, true]);
  });

  it('keep connections of which each answer is told from the next', async () => {
    const { output } = await run(`
      const agent = new http.Agent({ keepAlive: true, maxSockets: 1 }); const paths = ['headers?content-length=3', 'status/204', 'status/304', 'cookies', 'bytes/70000', 'headers?x-a=1', 'early'];
      return Promise.all(paths.map(async (p) => { const a = await ask('http://api.test/' + p, { agent }); return [a.status, a.text.length] }))`);
    expect(output).toEqual([
      [200, 3],
      [204, 0],
      [304, 0],
      [200, 0],
      [200, 70_000],
      [200, 3],
      [413, 9],
    ]);
  });

  it('fail where an answer has another length than it says', async () => {
    const { output } = await run(
      `return [(await ask('http://api.test/headers?content-length=4')).code, (await ask('http://api.test/headers?content-length=2')).code]`,
    );
    expect(output).toEqual(['EGRESS_FAILED', 'EGRESS_FAILED']);
  });

  it('have timeouts and aborts of their own, of which the host hears', async () => {
    const { output, asked } = await run(`
      const late = await new Promise((r) => { const q = https.get('https://api.test/silent', { timeout: 20 }); q.on('timeout', () => q.destroy(new Error('late'))); q.on('error', (e) => r(e.message)) });
      const gone = await new Promise((r) => { const q = https.get('https://api.test/endless', (res) => { res.once('data', () => res.destroy()); res.on('close', () => r('gone')) }) });
      await new Promise((r) => setTimeout(r, 50)); return [late, gone]`);
    expect(output).toEqual(['late', 'gone']);
    expect(asked.map(({ aborted }) => aborted)).toEqual([true, true]);
  });

  it('know how many bytes went each way, and connect anew where they were closed', async () => {
    const { output } = await run(`
      const socket = new net.Socket(); const get = 'GET /status/200?x HTTP/1.1\\r\\n\\r\\n'; const said = [];
      for (let i = 0; i < 2; i++) {
        socket.connect(80, 'api.test'); let bytes = 0;
        await new Promise((r) => { socket.once('connect', () => socket.write(get)); socket.on('data', (c) => { bytes += c.length; if (String(c).endsWith('0\\r\\n\\r\\n')) r() }) });
        said.push(socket.bytesWritten === get.length, socket.bytesRead === bytes); socket.removeAllListeners('data'); socket.destroy(); await new Promise((r) => socket.once('close', r));
      }
      return said`);
    expect(output).toEqual([true, true, true, true]);
  });

  it('may use the memory of what was taken again', async () => {
    const { output } = await run(`
      const socket = net.connect(80, 'api.test'); const begin = Buffer.from('GET /status/');
      socket.write(begin, () => { begin.fill('x'); socket.write('200?ok HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n') });
      let text = ''; for await (const c of socket) text += c; return text.slice(0, 15)`);
    expect(output).toBe('HTTP/1.1 200 OK');
  });

  it('pipeline, and get the answers in order', async () => {
    const { output, asked } = await run(`
      const socket = net.connect(80, 'api.test'); socket.write('GET /status/200?one HTTP/1.1\\r\\nHost: x\\r\\n\\r\\nPOST /echo HTTP/1.1\\r\\nHost: x\\r\\nTransfer-Encoding: chunked\\r\\n\\r\\n3;x=y\\r\\nabc\\r\\n0\\r\\nTrailer: t\\r\\n\\r\\nGET /status/200?three HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n');
      let text = ''; for await (const chunk of socket) text += chunk; return text.match(/one|"body":"abc"|three/g)`);
    expect(output).toEqual(['one', '"body":"abc"', 'three']);
    expect(asked).toHaveLength(3);
  });
});

describe('an answer that is the host’s own', () => {
  it('fails the request with its code, reason, hint and patch', async () => {
    const { output } = await run(
      `const { error } = await ask('https://api.test/denied'); return [error.code, error.reason, error.hint, error.patch, error.retryable]`,
    );
    expect(output).toEqual([
      'EGRESS_DENIED',
      'PATH_NOT_DECLARED',
      'Declare the path.',
      { rules: [{ host: 'api.test' }] },
      false,
    ]);
  });

  it('is the cause that fetch fails with, and what ctx.fetch fails with', async () => {
    const { output } = await run(
      `const said = []; await fetch('https://api.test/denied').catch((e) => said.push(e.name, e.cause.code)); await ctx.fetch('https://api.test/denied').catch((e) => said.push(e.name, e.code)); return said`,
    );
    expect(output).toEqual(['TypeError', 'EGRESS_DENIED', 'NodeError', 'EGRESS_DENIED']);
  });

  it.each([
    ['fetch', `await fetch('https://api.test/failed/EGRESS_TIMED_OUT')`, 'EGRESS_TIMED_OUT', true],
    [
      'a library that wraps it twice',
      `try { await fetch('https://api.test/denied') } catch (cause) { throw new Error('lib', { cause: new Error('inner', { cause }) }) }`,
      'EGRESS_DENIED',
      false,
    ],
    [
      'a library that has another name for a cause',
      `try { await fetch('https://api.test/denied') } catch (e) { throw Object.assign(new Error('lib'), { detail: e.cause }) }`,
      'EGRESS_DENIED',
      false,
    ],
    [
      'a library that keeps the code alone',
      `try { await fetch('https://api.test/denied') } catch (e) { throw Object.assign(new Error('lib'), { code: e.cause.code }) }`,
      'EGRESS_DENIED',
      false,
    ],
    [
      'an answer that breaks off',
      `await (await fetch('https://api.test/broken/RESPONSE_TOO_LARGE')).text()`,
      'EGRESS_BUDGET',
      false,
    ],
    ['an answer that is lost', `await (await fetch('https://api.test/broken/whatever')).text()`, 'EGRESS_FAILED', true],
    ['a code that is none', `await fetch('https://api.test/failed/TIMED_OUT')`, 'EGRESS_FAILED', true],
  ])('ends the run with its code through %s', async (_how, body, code, retryable) => {
    expect(await failure(body)).toMatchObject({ code, retryable });
  });

  it.each([
    [
      'a library that copies its code',
      `const e = await ctx.fetch('https://api.test/denied').catch((e) => e); throw Object.assign(new Error('lib', { cause: e }), { code: e.code })`,
    ],
    ['several that all failed', `await Promise.any([1, 2].map(() => fetch('https://api.test/denied')))`],
  ])('is told with its details through %s', async (_how, body) => {
    expect(await failure(body)).toMatchObject({
      code: 'EGRESS_DENIED',
      details: { reason: 'PATH_NOT_DECLARED', patch: { rules: [{ host: 'api.test' }] }, hint: 'Declare the path.' },
    });
  });

  it('is what a reader of an answer by node:http is told when it breaks off', async () => {
    const { output } = await run(`
      const broken = (use) => new Promise((r) => { const q = https.get('https://api.test/broken/RESPONSE_TOO_LARGE', (res) => use(res).catch((e) => r(e.code))); q.on('error', () => {}) });
      return [await broken(async (res) => { for await (const _ of res); }), await broken(async (res) => { await new Promise((_, j) => { res.on('error', j); res.resume() }) }), await new Promise((r) => https.get('https://api.test/broken/x', (res) => res.resume()).on('error', (e) => r(e.code)))]`);
    expect(output).toEqual(['EGRESS_BUDGET', 'EGRESS_BUDGET', 'EGRESS_FAILED']);
  });

  it('leaves an error of the author its own code', async () => {
    const body = `try { await fetch('https://api.test/denied') } catch (cause) { throw Object.assign(new Error('mine', { cause }), { [Symbol.for('glovebox.NodeError')]: true, code: 'MINE' }) }`;
    expect(await failure(body)).toMatchObject({ code: 'MINE' });
  });
});

describe('ctx.fetch', () => {
  it('tells the host what is to be tried again, and which credential it is to put in', async () => {
    const { output, asked } = await run(`
      const init = { headers: { 'x-a': '1' }, retry: 3, credential: 'api' }; await (await ctx.fetch('https://api.test/echo', init)).text();
      await (await ctx.fetch(new Request('https://api.test/echo', { headers: { 'x-b': '2' } }), { retry: 0 })).text();
      await (await ctx.fetch(new URL('https://api.test/echo'))).text();
      return Object.keys(init.headers)`);
    expect(output).toEqual(['x-a']);
    expect(
      asked.map(({ headers }) =>
        Object.entries(headers)
          .filter(([name]) => /^(x-|glove)/.test(name))
          .sort(),
      ),
    ).toEqual([
      [
        ['glovebox-credential', 'api'],
        ['glovebox-retry', '3'],
        ['x-a', '1'],
      ],
      [
        ['glovebox-retry', '0'],
        ['x-b', '2'],
      ],
      [],
    ]);
  });

  it('takes no other values', async () => {
    const { output, asked } = await run(
      `const said = []; for (const init of [{ retry: 6 }, { retry: -1 }, { retry: '1' }, { credential: 7 }, { credential: 'a b' }, 'x']) await ctx.fetch('https://api.test/echo', init).catch((e) => said.push(e.name)); return said`,
    );
    expect(output).toEqual(['RangeError', 'RangeError', 'TypeError', 'TypeError', 'TypeError', 'TypeError']);
    expect(asked).toEqual([]);
  });
});

describe('what is no HTTP/1.1', () => {
  it('fails at once with CELL_HTTP_ONLY, whoever connects and however', async () => {
    const { output, asked } = await run(
      `
      const startup = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);
      const plain = new net.Socket(); plain.connect(5432, 'db.test'); class Own extends net.Socket {} const own = new Own(); own.connect({ port: 5432, host: 'db.test' });
      const said = [end(net.connect(5432, 'db.test'), startup), end(plain, startup), end(own, startup), end(tls.connect(443, 'db.test'), 'EHLO me\\r\\n'), end(net.connect('/run/x.sock')), end(net.connect({ path: '/run/x.sock' })), end(new net.Socket().connect('/run/x.sock')), end(net.connect(25, 'mail.test')), end(net.connect(80, 'a.test'), '*1\\r\\n')];
      said.push((await ask({ socketPath: '/run/x.sock', path: '/' }).catch((e) => e)).code);
      for (const url of ['http://a.test', 'https://a.test']) said.push(await new Promise((r) => { const s = http2.connect(url); s.on('error', (e) => r(e.code)) }));
      const inner = net.connect(80, 'a.test'); inner.write('GET /silent HTTP/1.1\\r\\n\\r\\n'); said.push(end(tls.connect({ socket: inner })));
      return Promise.all(said)`
        .replace('ask({ socketPath', 'ask2({ socketPath')
        .replace(
          'const startup',
          `const ask2 = (o) => new Promise((r) => { const q = http.request(o); q.on('error', r); q.end() }); const startup`,
        ),
    );
    expect(output).toEqual(Array(13).fill('CELL_HTTP_ONLY'));
    expect(asked.map(({ url }) => url)).toEqual(['http://a.test:80/silent']);
  });

  it('fails a handler that waits for a server to speak first, instead of never', async () => {
    expect(
      await failure(`await new Promise((r, j) => net.connect(6379, 'a.test').once('data', r).once('error', j))`),
    ).toMatchObject({
      code: 'CELL_HTTP_ONLY',
    });
  });

  it('fails one that waits so and takes no notice of what it hears', async () => {
    const body = `net.connect(8080, 'api.test').on('error', () => {}); await new Promise(() => {})`;
    expect(await failure(body)).toMatchObject({ code: 'NODE_NEVER_SETTLED' });
  });

  it('says that methods are written in capitals', async () => {
    const { output } = await run(
      `const say = (method) => fetch('https://api.test/status/200', { method }).then((r) => r.status, (e) => e.cause.message); return [await say('patch'), await say('PATCH')]`,
    );
    expect(output).toEqual([expect.stringContaining('written in capitals'), 200]);
  });

  it('is HTTP/1.1 where a client offers that as well', async () => {
    const { output } = await run(
      `const s = tls.connect({ host: 'api.test', port: 443, ALPNProtocols: ['h2', 'http/1.1'] }); await new Promise((r) => s.once('secureConnect', r)); const said = [s.alpnProtocol, s.authorized, s.encrypted, s instanceof tls.TLSSocket, s.connecting, s.pending, s.getProtocol()]; s.destroy(); return said`,
    );
    expect(output).toEqual(['http/1.1', true, true, true, false, false, 'TLSv1.3']);
  });

  it('is not offered by any interface, of which libraries are told without an error', async () => {
    const { output } = await run(
      `const { networkInterfaces } = await import('node:os'); return [networkInterfaces(), process.getBuiltinModule('os').networkInterfaces()]`,
    );
    expect(output).toEqual([{}, {}]);
    // This process has at least its own: else nothing was shown.
    expect(Object.keys(networkInterfaces()).length).toBeGreaterThan(0);
  });

  it('and what a cell never has stays refused', async () => {
    const { output } = await run(`
      const dns = await import('node:dns'); const dgram = await import('node:dgram');
      const codes = []; await new Promise((r) => { try { dns.lookup('a.test', (e) => { codes.push(e.code); r() }) } catch (e) { codes.push(e.code); r() } });
      for (const f of [() => dgram.createSocket('udp4').bind(0), () => net.createServer().listen(0), () => http.createServer().listen(0)]) await new Promise((r) => { try { const s = f(); s.on('error', (e) => { codes.push(e.code); r() }); s.on('listening', () => { codes.push('listening'); r() }) } catch (e) { codes.push(e.code); r() } });
      return codes`);
    expect(output).toEqual(Array(4).fill('ERR_ACCESS_DENIED'));
  });

  it('TLS over a connection on which nothing was said goes to where that one leads', async () => {
    const { output, asked } = await run(
      `const socket = tls.connect({ socket: net.connect(8443, 'api.test'), servername: 'other.test' }); socket.end('GET /status/200?x HTTP/1.1\\r\\nConnection: close\\r\\n\\r\\n'); let text = ''; for await (const c of socket) text += c; return text.slice(0, 15)`,
    );
    expect(output).toBe('HTTP/1.1 200 OK');
    expect(asked.map(({ url }) => url)).toEqual(['https://api.test:8443/status/200?x']);
  });
});

describe('WebSocket', () => {
  it('carries messages both ways until it is closed', async () => {
    const { output, asked } = await run(`
      const ws = new WebSocket('wss://api.test/socket'); await new Promise((r, j) => { ws.onopen = r; ws.onerror = j });
      const got = []; for (const text of ['one', 'two', 'three']) { ws.send(text); got.push(await new Promise((r) => { ws.onmessage = (e) => r(e.data) })) }
      ws.close(1000); got.push(await new Promise((r) => { ws.onclose = (e) => r(e.code) })); return got`);
    expect(output).toEqual(['one', 'two', 'three', 1000]);
    expect(asked[0]).toMatchObject({
      method: 'GET',
      url: 'https://api.test:443/socket',
      headers: { 'glovebox-upgrade': 'websocket' },
    });
  });

  it('fails where the host or the origin does not agree', async () => {
    const { output } = await run(
      `const said = []; for (const p of ['denied', 'status/401']) said.push(await new Promise((r) => { const ws = new WebSocket('wss://api.test/' + p); ws.onopen = () => r('open'); ws.onclose = (e) => r(e.code) })); return said`,
    );
    expect(output).toEqual([1006, 1006]);
  });
});

describe('bodies', () => {
  it('that nobody takes stop the one who sends them, both ways', async () => {
    const { output, asked } = await run(`
      const before = process.memoryUsage().rss; const res = await new Promise((r) => http.get('http://api.test/bytes/60000000', r)); await new Promise((r) => setTimeout(r, 300)); const grown = process.memoryUsage().rss - before;
      const req = http.request('http://api.test/silent', { method: 'POST' }); req.on('error', () => {}); for (let n = 0; n < 100; n++) req.write(Buffer.alloc(65536));
      await new Promise((r) => setTimeout(r, 200)); const blocked = req.socket.writableLength + req.writableLength > 5_000_000; req.destroy();
      let total = 0; for await (const chunk of res) total += chunk.length; return [grown < 40e6, blocked, total]`);
    expect(output).toEqual([true, true, 60_000_000]);
    expect(asked).toHaveLength(2);
  });

  it('that are answered before they have ended need not be taken', async () => {
    const { output } = await run(
      `const a = await ask('http://api.test/early', { method: 'POST', headers: { 'content-length': 3000000 } }, Buffer.alloc(3000000)); return [a.status, a.text, (await ask('http://api.test/status/200?on')).text]`,
    );
    expect(output).toEqual([413, 'too large', 'on']);
  });
});

describe('a cell', () => {
  it('ends with its handler, whatever connections are kept', async () => {
    const { got } = await tried(
      `await ask('https://api.test/echo', { agent: new https.Agent({ keepAlive: true }) }); net.connect(80, 'a.test'); http.get('http://api.test/silent').on('error', () => {}); return 'done'`,
    );
    expect(got.outcome).toMatchObject({ output: 'done' });
  });

  it('knows that nothing can happen any more, though a connection is kept', async () => {
    expect(
      await failure(
        `await ask('https://api.test/echo', { agent: new https.Agent({ keepAlive: true, timeout: 60000 }) }); await new Promise(() => {})`,
      ),
    ).toMatchObject({ code: 'NODE_NEVER_SETTLED' });
  });
});
