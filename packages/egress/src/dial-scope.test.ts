import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeCa, type TestCa } from '../test/ca.ts';
import {
  ask,
  bytes,
  closeDialers,
  failure,
  loopbackOnly,
  openDialer,
  openScope,
  read,
  readText,
  reasonOf,
} from '../test/dialing.ts';
import { closeOrigins, type Handler, openHttp1, openHttp2 } from '../test/origins.ts';

let ca: TestCa;
let identity: ReturnType<TestCa['issue']>;
beforeAll(() => {
  ca = makeCa();
  identity = ca.issue(['DNS:origin.test', 'IP:127.0.0.1']);
});
afterEach(async () => {
  closeDialers();
  await closeOrigins();
});

/** Says what it was sent. */
const echo: Handler = (request, response) => {
  response.setHeader('x-method', request.method ?? '');
  request.pipe(response);
};
const text =
  (said: string): Handler =>
  (_request, response) =>
    void response.end(said);
const trusting = () => ({ extraCa: [ca.cert] });

describe.each(['h1', 'h2'] as const)('a request over %s', (protocol) => {
  const open = (handler: Handler) => (protocol === 'h1' ? openHttp1(handler, identity) : openHttp2(handler, identity));

  it('brings head and body of the answer, and says where they came from', async () => {
    const { port } = await open((_request, response) => {
      response.writeHead(203, { 'X-One': 'a', 'set-cookie': ['a=1', 'b=2'] }).end('hello');
    });
    const answer = await openScope(trusting()).request(ask(`https://origin.test:${port}/path?q=1`));
    expect(answer).toMatchObject({ status: 203, protocol, address: '127.0.0.1', retries: 0 });
    expect(answer.headers).toMatchObject({ 'x-one': 'a', 'set-cookie': '["a=1","b=2"]' });
    expect(Object.keys(answer.headers)).not.toContain('connection');
    expect(await readText(answer.body)).toBe('hello');
  });

  it('sends path, query, headers and a streamed body as they are', async () => {
    const origin = await open(echo);
    const request = ask(`https://origin.test:${origin.port}/a%20b?q=%C3%A4`, {
      method: 'POST',
      headers: { 'x-mine': 'yes', 'content-type': 'text/plain' },
      body: bytes(Buffer.from('0123456789'), 5000),
    });
    const { body } = await openScope(trusting()).request(request);
    expect((await read(body)).equals(Buffer.from('0123456789'.repeat(5000)))).toBe(true);
    expect(origin.seen[0]).toMatchObject({
      method: 'POST',
      url: '/a%20b?q=%C3%A4',
      headers: { 'x-mine': 'yes', 'content-type': 'text/plain' },
      // Bodies go by HTTP/1.1, whatever the origin has.
      version: '1.1',
    });
  });

  it.each([
    ['HEAD', 200],
    ['GET', 204],
    ['GET', 304],
  ])('has no body after %s that is answered %i', async (method, status) => {
    const { port } = await open((_request, response) => response.writeHead(status).end());
    const answer = await openScope(trusting()).request(ask(`https://origin.test:${port}/`, { method }));
    expect(answer.status).toBe(status);
    expect(await readText(answer.body)).toBe('');
  });

  it('shares connections within a scope, and none between two', async () => {
    const origin = await open(text('x'));
    const dialer = openDialer(trusting());
    const [one, two] = [dialer.scope('node', loopbackOnly), dialer.scope('node', loopbackOnly)];
    const url = `https://origin.test:${origin.port}/`;
    for (const scope of [one, one, one, two]) expect(await readText((await scope.request(ask(url))).body)).toBe('x');
    expect(origin.connections).toBe(2);
  });

  it('serves twenty at once', async () => {
    const origin = await open((request, response) => setTimeout(() => response.end(request.url), 20));
    const scope = openScope(trusting());
    const answers = await Promise.all(
      Array.from({ length: 20 }, async (_, nth) =>
        readText((await scope.request(ask(`https://origin.test:${origin.port}/${nth}`))).body),
      ),
    );
    expect(answers).toEqual(Array.from({ length: 20 }, (_, nth) => `/${nth}`));
    expect(origin.connections).toBe(protocol === 'h2' ? 1 : 20);
  });

  it('ends at the origin when it is aborted, before and after the head of the answer', async () => {
    const closed = Promise.withResolvers<void>();
    const origin = await open((request, response) => {
      response.on('close', () => (request.url === '/late' ? closed.resolve() : undefined));
      if (request.url === '/late') response.write('x');
    });
    const scope = openScope(trusting());
    const early = new AbortController();
    const waiting = scope.request(ask(`https://origin.test:${origin.port}/early`, { signal: early.signal }));
    await expect.poll(() => origin.seen.length).toBe(1);
    early.abort();
    expect(await failure(waiting)).toMatchObject({ code: 'EGRESS_FAILED', reason: 'CONNECTION_LOST' });

    const late = new AbortController();
    const { body } = await scope.request(ask(`https://origin.test:${origin.port}/late`, { signal: late.signal }));
    const reading = read(body);
    late.abort();
    expect(await reasonOf(reading)).toBe('CONNECTION_LOST');
    await closed.promise;
  });

  it('ends at the origin when its reader leaves', async () => {
    const closed = Promise.withResolvers<void>();
    const { port } = await open((_request, response) => {
      response.on('close', () => closed.resolve());
      response.write('x');
    });
    const { body } = await openScope(trusting()).request(ask(`https://origin.test:${port}/`));
    for await (const _chunk of body) break;
    await closed.promise;
  });
});

it('keeps no more than 64 connections for later, and none of those that something is on is dropped', async () => {
  const waiting: (() => void)[] = [];
  const origin = await openHttp1((request, response) => {
    // As long as a client may be asked to keep it.
    response.setHeader('keep-alive', 'timeout=600');
    if (request.url === '/wait') waiting.push(() => response.end('waited'));
    else response.end('ok');
  });
  const resolver = { resolve: async () => [Uint8Array.of(127, 0, 0, 1)] };
  const scope = openScope({ resolver });
  const answerOf = async (host: string, path = '/'): Promise<string> =>
    readText((await scope.request(ask(`http://${host}.test:${origin.port}${path}`))).body);
  const first = Array.from({ length: 5 }, (_, nth) => answerOf(`waiting-${nth}`, '/wait'));
  await expect.poll(() => waiting.length).toBe(5);
  for (let nth = 0; nth < 100; nth++) expect(await answerOf(`n${nth}`)).toBe('ok');
  await expect.poll(() => origin.sockets.size).toBeLessThanOrEqual(64);
  expect(origin.sockets.size).toBeGreaterThan(32);
  for (const answer of waiting) answer();
  expect(await Promise.all(first)).toEqual(Array(5).fill('waited'));
  expect(origin.connections).toBe(105);
  // The last ones are still there.
  expect(await answerOf('n99')).toBe('ok');
  expect(origin.connections).toBe(105);
});

it('leads by its target alone to host and name, whatever the headers say', async () => {
  const origin = await openHttp1(text('x'), identity);
  const headers = {
    host: 'evil.test',
    Host: 'evil.test',
    connection: 'keep-alive, x-mine',
    'x-mine': 'yes',
    te: 'trailers',
    'transfer-encoding': 'chunked',
    upgrade: 'h2c',
    expect: '100-continue',
    'accept-encoding': 'x-nothing',
    'content-length': '17',
  };
  const answer = await openScope(trusting()).request(ask(`https://origin.test:${origin.port}/`, { headers }));
  await read(answer.body);
  expect(origin.serverNames).toEqual(['origin.test']);
  expect(origin.seen[0]?.headers).toEqual({
    host: `origin.test:${origin.port}`,
    connection: 'keep-alive',
    'accept-encoding': 'gzip, deflate, br, zstd',
    'x-mine': 'yes',
  });
});

it('asks for nothing packed where a part or only the head is wanted', async () => {
  const origin = await openHttp1(text('x'));
  const scope = openScope();
  const url = `http://origin.test:${origin.port}/`;
  await read((await scope.request(ask(url, { headers: { range: 'bytes=0-1' } }))).body);
  await read((await scope.request(ask(url, { method: 'HEAD' }))).body);
  expect(origin.seen.map(({ headers }) => headers['accept-encoding'])).toEqual(['identity', 'identity']);
});

it.each([
  ['a line break in a value', { 'x-a': 'b\r\nx-c: d' }],
  ['a line break in a name', { 'x-a\r\nx-c': 'd' }],
  ['a colon in a name', { ':authority': 'evil.test' }],
  ['an impossible length', { 'content-length': '1, 2' }],
])('sends nothing with %s', async (_what, headers) => {
  const origin = await openHttp1(text('x'));
  const request = ask(`http://origin.test:${origin.port}/`, {
    method: 'POST',
    headers,
    body: bytes(Buffer.from('x'), 1),
  });
  expect(await failure(openScope().request(request))).toMatchObject({
    code: 'EGRESS_DENIED',
    reason: 'HEADER_REFUSED',
  });
  expect(origin.seen).toEqual([]);
});
