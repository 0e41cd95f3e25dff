import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { gzipSync } from 'node:zlib';
import { defaultEgressPolicy, egressPolicySchema } from '@glovebox/contract';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeCa, type TestCa } from '../../test/ca.ts';
import { ask, type CellAsks, openSession } from '../../test/cassette-cell.ts';
import { closeDialers, openDialer } from '../../test/dialing.ts';
import { closeOrigins, type Handler, type Origin, openHttp1, openHttp2 } from '../../test/origins.ts';
import type { EgressSession, SessionOptions } from '../api.ts';
import { createEgress } from '../session.ts';
import { createCassetteEgress, Recording, readCassette, recordEgress } from './index.ts';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc') as () => void;

let ca: TestCa;
let identity: ReturnType<TestCa['issue']>;
beforeAll(() => {
  ca = makeCa();
  identity = ca.issue(['DNS:origin.test']);
});
afterEach(async () => {
  closeDialers();
  await closeOrigins();
});

/** A live session over TLS that is recorded. */
function live({ port }: Origin) {
  const recording = new Recording();
  const egress = recordEgress(createEgress(openDialer({ extraCa: [ca.cert] })), recording);
  const allowances = [{ id: 'loopback', host: 'origin.test', cidrs: ['127.0.0.0/8'], ports: [port], reason: 'test' }];
  const policy = egressPolicySchema.parse({ allowances });
  const opened = openSession(egress, { host: 'origin.test', port }, policy);
  return { ...opened, recording, base: `https://origin.test:${port}` };
}

function replay(text: string, { port }: Origin) {
  const read = readCassette(JSON.parse(text));
  if (!read.ok) throw new Error(`${read.path}: ${read.message}`);
  const { egress, player } = createCassetteEgress(read.cassette);
  return { player, ...openSession(egress, { host: 'origin.test', port }, defaultEgressPolicy) };
}

const entriesOf = (text: string) => (JSON.parse(text) as { entries: { request: object; response: object }[] }).entries;

const bytes = Buffer.from([0xff, 0xfe, 0, 1]);
let counter = 0;
const origin: Handler = (request, response) => {
  const path = (request.url ?? '').split('?')[0];
  if (path === '/gzip') {
    response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json', vary: 'a, b' });
    response.end(gzipSync('{"packed":true}'));
  } else if (path === '/bytes') response.end(bytes);
  else if (path === '/count') response.end(String(++counter));
  else if (path === '/moved') response.writeHead(302, { location: '/count?token=SECRET-IN-URL' }).end();
  else if (path === '/page')
    response
      .writeHead(200, {
        link: '</page?page=2&private_token=SECRET-IN-LINK>; rel="next", <https://a.test/?key=SECRET-TOO>; rel="up"',
      })
      .end('1');
  else if (path === '/none') response.writeHead(204).end();
  else if (path === '/login')
    response
      .writeHead(200, { 'set-cookie': ['sid=SECRET-COOKIE'], 'x-auth-token': 'SECRET-TOKEN', etag: '"1"' })
      .end('in');
  else request.pipe(response);
};

/** Everything that can be asked of the origin above, in order. */
const walk: [path: string, asks?: CellAsks][] = [
  ['/gzip?b=1&a=2'],
  ['/bytes'],
  ['/count'],
  ['/count'],
  ['/moved'],
  ['/none'],
  ['/echo', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'é' }],
  ['/echo', { method: 'PUT', body: [randomBytes(70_000)] }],
  ['/bytes', { method: 'HEAD' }],
];

async function walkAll(session: EgressSession, base: string): Promise<unknown[]> {
  const answers: unknown[] = [];
  for (const [path, asks] of walk) {
    const { status, headers, body } = await ask(session, `${base}${path}`, asks);
    answers.push({ status, type: headers['content-type'], location: headers.location, body: body.toString('base64') });
  }
  return answers;
}

describe.each(['h1', 'h2'] as const)('a recording over %s', (protocol) => {
  const open = (handler: Handler) => (protocol === 'h1' ? openHttp1(handler, identity) : openHttp2(handler, identity));

  it('is replayed as it was, with the origin gone', async () => {
    const server = await open(origin);
    const { session, recording, base } = live(server);
    const before = await walkAll(session, base);
    expect(before.map((answer) => (answer as { status: number }).status)).toEqual([
      200, 200, 200, 200, 302, 204, 200, 200, 200,
    ]);
    const seen = server.seen.length;
    await server.close();
    const played = replay(recording.text(), server);
    const withoutSecret = (text: string) => text.replace('SECRET-IN-URL', 'not-recorded');
    expect(JSON.stringify(await walkAll(played.session, base))).toBe(withoutSecret(JSON.stringify(before)));
    expect([played.player.unused(), played.player.misses, server.seen.length]).toEqual([[], [], seen]);
  });
});

describe('a recording', () => {
  it('has no secret in it: no credential, no cookie, no token, in headers, URLs or locations', async () => {
    const server = await openHttp1(origin, identity);
    const { session, recording, base } = live(server);
    const headers = {
      authorization: 'Bearer SECRET-1',
      cookie: 'sid=SECRET-2',
      'x-api-key': 'SECRET-3',
      'x-whatever-it-is-called': 'SECRET-4',
      accept: 'text/plain',
    };
    await ask(session, `${base}/login?page=1&api_key=SECRET-5`, { headers });
    await ask(session, `${base}/moved`, { headers });
    await ask(session, `${base}/page?private_token=SECRET-6`, { headers });
    expect(server.seen[0]?.headers).toMatchObject({ authorization: 'Bearer SECRET-1', 'x-api-key': 'SECRET-3' });
    expect(server.seen[0]?.url).toContain('SECRET-5');
    const text = recording.text();
    expect(text).not.toContain('SECRET');
    expect(entriesOf(text)[2]?.response).toMatchObject({
      headers: {
        link: '</page?page=2&private_token=not-recorded>; rel="next", <https://a.test/?key=not-recorded>; rel="up"',
      },
    });
    expect(entriesOf(text)[0]).toEqual({
      request: {
        method: 'GET',
        url: `${base}/login?page=1&api_key=not-recorded`,
        headers: {
          accept: 'text/plain',
          authorization: '<not recorded>',
          cookie: '<not recorded>',
          'x-api-key': '<not recorded>',
        },
      },
      response: {
        status: 200,
        headers: expect.objectContaining({
          etag: '"1"',
          'set-cookie': '<not recorded>',
          'x-auth-token': '<not recorded>',
        }),
        body: { text: 'in' },
      },
    });
    const { session: played } = replay(text, server);
    const again = await ask(played, `${base}/login?page=1&api_key=another-one`);
    expect([again.body.toString(), again.headers['set-cookie'], again.headers['x-auth-token']]).toEqual([
      'in',
      undefined,
      undefined,
    ]);
  });

  it('keeps a long body of a request as its digest, and a short one as text', async () => {
    const server = await openHttp1((request, response) => request.resume().on('end', () => response.end()), identity);
    const { session, recording, base } = live(server);
    await ask(session, base, { method: 'PUT', body: 'short' });
    await ask(session, base, { method: 'PUT', body: 'x'.repeat(17_000) });
    expect(entriesOf(recording.text()).map(({ request }) => (request as { body: object }).body)).toEqual([
      { text: 'short' },
      { digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/), bytes: 17_000 },
    ]);
  });

  it('has its entries in the order of the requests, whichever is answered first', async () => {
    const waiting: (() => void)[] = [];
    const server = await openHttp1((request, response) => {
      if (request.url === '/late') waiting.push(() => response.end('late'));
      else response.end('soon', () => waiting.pop()?.());
    }, identity);
    const { session, recording, base } = live(server);
    const late = ask(session, `${base}/late`);
    while (waiting.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await ask(session, `${base}/soon`);
    await late;
    expect(entriesOf(recording.text()).map(({ response }) => (response as { body: object }).body)).toEqual([
      { text: 'late' },
      { text: 'soon' },
    ]);
  });

  it('has neither denials nor failures in it, which come about by themselves', async () => {
    const server = await openHttp1((request, response) => {
      if (request.url === '/cut') {
        response.writeHead(200, { 'content-length': '100' }).write('part');
        setTimeout(() => response.destroy(), 20);
      } else if (request.url === '/dead') request.socket.destroy();
      else response.setHeader('glovebox-egress', 'denied').end('ours?');
    }, identity);
    const { session, recording, base } = live(server);
    expect((await ask(session, 'https://other.test/')).headers['glovebox-egress']).toBe('denied');
    expect((await ask(session, `${base}/dead`)).headers['glovebox-egress']).toBe('failed');
    expect((await ask(session, `${base}/cut`)).reset).toBeDefined();
    const good = await ask(session, `${base}/good`);
    expect(good.headers['glovebox-egress']).toBeUndefined();
    const entries = entriesOf(recording.text());
    expect(entries.map(({ request }) => (request as { url: string }).url)).toEqual([`${base}/good`]);
    expect(JSON.stringify(entries)).not.toContain('glovebox');
  });

  it('has what a node got of an answer that it gave up', async () => {
    const server = await openHttp1((_request, response) => void response.write('x'.repeat(5000)), identity);
    const { session, recording, base } = live(server);
    await ask(session, `${base}/endless`, { leaveAfter: 5000 });
    expect(entriesOf(recording.text())).toMatchObject([{ response: { body: { text: 'x'.repeat(5000) } } }]);
  });

  it('over the size of a cassette is none, and one below it is', async () => {
    const server = await openHttp1(
      (request, response) => void response.end('x'.repeat(Number(request.url?.slice(1)))),
      identity,
    );
    const small = live(server);
    await ask(small.session, `${small.base}/2000000`);
    expect(small.recording.text().length).toBeGreaterThan(2_000_000);
    const large = live(server);
    await ask(large.session, `${large.base}/1200000`);
    const second = await ask(large.session, `${large.base}/1200000`);
    expect(second.body.length).toBe(1_200_000);
    // At once, and not when it is written: until then it would be held.
    expect([small.recording.failed, large.recording.failed]).toEqual([false, true]);
    expect(() => large.recording.text()).toThrow(expect.objectContaining({ code: 'CASSETTE_TOO_LARGE' }));
  });

  it('has room for what it keeps, whatever it does not keep: long bodies of requests, what was denied, and answers that broke off', async () => {
    const server = await openHttp1((request, response) => {
      if (request.url === '/cut') {
        response.writeHead(200, { 'content-length': '900000' }).write('x'.repeat(800_000));
        setTimeout(() => response.destroy(), 50);
      } else request.resume().on('end', () => response.end('ok'));
    }, identity);
    const { session, recording, base } = live(server);
    for (let i = 0; i < 3; i++) expect((await ask(session, `${base}/cut`)).reset).toBeDefined();
    for (let i = 0; i < 150; i++)
      await ask(session, 'https://other.test/', { method: 'PUT', body: 'x'.repeat(16_000) });
    for (let i = 0; i < 150; i++)
      await ask(session, base, { method: 'PUT', body: [Buffer.alloc(16_000), Buffer.alloc(1000)] });
    expect(entriesOf(recording.text())).toHaveLength(150);
  });

  it('takes no more memory than its bytes, however small the pieces are in which they come', async () => {
    const heldBytes = () => {
      gc();
      const { heapUsed, external } = process.memoryUsage();
      return heapUsed + external;
    };
    const session: EgressSession = {
      accept: async (request) => {
        for await (const _ of request.body);
        request.respond({ status: 200, headers: {} });
        const one = Buffer.from('x');
        for (let i = 0; i < 200_000; i++) await request.write(one);
        expect(heldBytes() - before).toBeLessThan(4_000_000);
        request.end();
      },
      end: () => undefined,
      settled: async () => undefined,
      summary: { requests: 0, decisions: [] },
    };
    const recording = new Recording();
    const recorded = recordEgress({ open: () => session }, recording).open({} as SessionOptions);
    const before = heldBytes();
    await recorded.accept({
      head: { method: 'GET', url: 'https://origin.test/', headers: {} },
      body: (async function* () {})(),
      signal: new AbortController().signal,
      respond: () => undefined,
      write: async () => undefined,
      end: () => undefined,
      reset: () => undefined,
    });
    expect(entriesOf(recording.text())).toMatchObject([{ response: { body: { text: 'x'.repeat(200_000) } } }]);
  });

  it('of a URL that is longer than a cassette has them is none, and of one that is not is one', async () => {
    const server = await openHttp1((_request, response) => void response.end('x'), identity);
    const recorded = async (length: number) => {
      const { session, recording, base } = live(server);
      const url = `${base}/?`;
      expect((await ask(session, url + 'q'.repeat(length - url.length))).body.toString()).toBe('x');
      return recording;
    };
    expect(readCassette(JSON.parse((await recorded(8192)).text()))).toMatchObject({
      cassette: { entries: [expect.anything()] },
    });
    const recording = await recorded(8193);
    expect(() => recording.text()).toThrow(expect.objectContaining({ code: 'CASSETTE_TOO_LARGE' }));
  });

  it('gives a body up that the broker gives up, read or not', async () => {
    let given = 0;
    const body = {
      [Symbol.asyncIterator]: () => ({
        next: async () => ({ done: false as const, value: Buffer.from('x') }),
        return: async () => {
          given++;
          return { done: true as const, value: undefined };
        },
      }),
    };
    const session: EgressSession = {
      accept: async (request) => void (await request.body[Symbol.asyncIterator]().return?.()),
      end: () => undefined,
      settled: async () => undefined,
      summary: { requests: 0, decisions: [] },
    };
    const recorded = recordEgress({ open: () => session }, new Recording()).open({} as SessionOptions);
    await recorded.accept({
      head: { method: 'PUT', url: 'https://origin.test/', headers: {} },
      body,
      signal: new AbortController().signal,
      respond: () => undefined,
      write: async () => undefined,
      end: () => undefined,
      reset: () => undefined,
    });
    expect(given).toBe(1);
  });

  it('of more requests than a cassette has is none', async () => {
    const recording = new Recording();
    for (let i = 0; i < 1000; i++) expect(recording.open()).toBeDefined();
    expect(JSON.parse(recording.text())).toEqual({ schema: 'glovebox.cassette/1', entries: [] });
    expect(recording.open()).toBeUndefined();
    expect(() => recording.text()).toThrow(expect.objectContaining({ code: 'CASSETTE_TOO_LARGE' }));
  });

  it('is text that a second recording of the same gives byte for byte', async () => {
    const server = await openHttp1((_request, response) => {
      response.sendDate = false;
      response.writeHead(200, { 'x-b': '2', 'x-a': '1' }).end('{"n":1}');
    }, identity);
    const record = async () => {
      const { session, recording, base } = live(server);
      await ask(session, base, { headers: { range: 'bytes=0-', accept: '*/*' } });
      return recording.text();
    };
    const text = await record();
    expect(await record()).toBe(text);
    expect(text.split('\n').slice(0, 5).join('\n')).toBe(
      '{\n  "schema": "glovebox.cassette/1",\n  "entries": [\n    {\n      "request": {',
    );
    expect(text.indexOf('"accept"')).toBeLessThan(text.indexOf('"range"'));
    expect(text.indexOf('"x-a"')).toBeLessThan(text.indexOf('"x-b"'));
  });
});
