import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { GloveboxError } from '@glovebox/contract';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { makeCa, type TestCa } from '../test/ca.ts';
import { closeDialers } from '../test/dialing.ts';
import { closeOrigins, type Handler, openHttp1, openHttp2 } from '../test/origins.ts';
import { type CellOptions, closeCells, openCell, readAnswer, until } from '../test/sessions.ts';

let ca: TestCa;
let identity: ReturnType<TestCa['issue']>;
beforeAll(() => {
  ca = makeCa();
  identity = ca.issue(['DNS:origin.test']);
});
afterEach(async () => {
  closeCells();
  closeDialers();
  await closeOrigins();
});

const hello: Handler = (_request, response) => void response.end('hello');
async function opened(handler: Handler, options: Partial<CellOptions> = {}) {
  const origin = await openHttp1(handler, identity);
  const cell = openCell({ port: origin.port, extraCa: [ca.cert], ...options });
  return { origin, cell, url: (path: string) => `https://origin.test:${origin.port}${path}` };
}

/** What no channel would carry: a cell that opens more than its streams, or asks faster than it may. */
function bareRequest(url: string) {
  const request = {
    head: { method: 'GET', url, headers: {} },
    body: (async function* () {})(),
    signal: new AbortController().signal,
    /** Of the answer; 0 where there is none. */
    status: 0,
    respond({ status }: { status: number }): void {
      request.status = status;
    },
    write: async () => undefined,
    end: () => undefined,
    reset: () => undefined,
  };
  return request;
}

describe('a request that is allowed', () => {
  it('reaches its origin and comes back, and is on record twice', async () => {
    const { origin, cell, url } = await opened((_request, response) =>
      response.writeHead(201, { 'x-one': 'a', 'set-cookie': ['a=1', 'b=2'] }).end('hello'),
    );
    const answer = await cell.ask(url('/a%20b?secret=1'), { method: 'POST', body: 'up', headers: { 'x-mine': 'yes' } });
    expect(answer).toMatchObject({ status: 201, text: 'hello', headers: { 'x-one': 'a' }, problem: undefined });
    expect(JSON.parse(answer.headers['set-cookie'] as string)).toEqual(['a=1', 'b=2']);
    expect(origin.seen).toMatchObject([{ method: 'POST', url: '/a%20b?secret=1', headers: { 'x-mine': 'yes' } }]);
    await cell.session.settled();
    const decided = {
      seq: 1,
      purpose: 'node',
      run: 'run_1',
      attempt: 'att_1',
      node: 'a-node',
      method: 'POST',
      scheme: 'https',
      host: 'origin.test',
      port: origin.port,
      path: '/a%20b',
      rule: 'http.rules[0]',
      reason: null,
    };
    expect(cell.records).toEqual([
      {
        ...decided,
        at: expect.any(String),
        outcome: 'open',
        address: null,
        protocol: null,
        status: null,
        bytesUp: 0,
        bytesDown: 0,
        durationMs: null,
        retries: 0,
      },
      {
        ...decided,
        at: expect.any(String),
        outcome: 'done',
        address: '127.0.0.1',
        protocol: 'h1',
        status: 201,
        bytesUp: 2,
        bytesDown: 5,
        durationMs: expect.any(Number),
        retries: 0,
      },
    ]);
    const tally = { scheme: 'https', host: 'origin.test', port: origin.port, method: 'POST', outcome: 'done' };
    expect(cell.session.summary).toEqual({
      requests: 1,
      decisions: [{ ...tally, rule: 'http.rules[0]', reason: null, count: 1 }],
    });
  });

  it.each(['h1', 'h2'] as const)('streams both ways with an origin that has %s, byte for byte', async (protocol) => {
    const echo: Handler = (request, response) => void request.pipe(response);
    const origin = await (protocol === 'h1' ? openHttp1(echo, identity) : openHttp2(echo, identity));
    const cell = openCell({ port: origin.port, extraCa: [ca.cert] });
    const stream = cell.open('PUT', `https://origin.test:${origin.port}/`);
    const sent = createHash('sha256');
    const upload = (async () => {
      for (let i = 0; i < 300; i++) {
        const chunk = Buffer.alloc(16_384, i);
        sent.update(chunk);
        await stream.write(chunk);
      }
      stream.end();
    })();
    const got = createHash('sha256');
    for await (const chunk of stream.body) got.update(chunk);
    await upload;
    expect(got.digest('hex')).toBe(sent.digest('hex'));
    await cell.session.settled();
    // A body goes by HTTP/1.1 to either.
    expect(cell.records[1]).toMatchObject({
      outcome: 'done',
      protocol: 'h1',
      bytesUp: 4_915_200,
      bytesDown: 4_915_200,
    });
  });

  it('stops its origin while the cell does not read, and goes on when it does', async () => {
    const total = 64 * 2 ** 20;
    let written = 0;
    const { cell, url } = await opened((_request, response) => {
      const more = (): void => {
        for (let room = true; room && written < total; written += 65_536) room = response.write(Buffer.alloc(65_536));
        if (written < total) response.once('drain', more);
        else response.end();
      };
      more();
    });
    const stream = cell.open('GET', url('/'));
    stream.end();
    await stream.response;
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(written).toBeLessThan(total / 2);
    let read = 0;
    for await (const chunk of stream.body) read += chunk.byteLength;
    expect(read).toBe(total);
  });

  it('carries no header that is ours to say, either way', async () => {
    const { origin, cell, url } = await opened((_request, response) => {
      response.setHeader('glovebox-egress', 'denied');
      response.setHeader('Glovebox-Anything', 'x');
      response.setHeader('x-plain', 'y');
      response.end('{}');
    });
    const answer = await cell.ask(url('/'), {
      headers: { host: 'evil.test', 'glovebox-retry': '2', 'x-plain': 'z', connection: 'close' },
    });
    expect(answer).toMatchObject({ status: 200, headers: { 'x-plain': 'y' }, problem: undefined });
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('glovebox'))).toEqual([]);
    expect(origin.seen[0]?.headers).toMatchObject({ host: `origin.test:${origin.port}`, 'x-plain': 'z' });
    expect(Object.keys(origin.seen[0]?.headers ?? {}).filter((name) => name.startsWith('glovebox'))).toEqual([]);
  });

  it('is given up at its origin when the cell gives it up', async () => {
    const closed = Promise.withResolvers<void>();
    const { cell, url } = await opened((_request, response) => {
      response.once('close', closed.resolve);
      response.write('first');
    });
    const stream = cell.open('GET', url('/'));
    stream.end();
    await stream.response;
    stream.reset('enough');
    await closed.promise;
    await cell.session.settled();
    expect(cell.records.at(-1)).toMatchObject({ outcome: 'aborted', reason: null, status: 200, bytesDown: 5 });
  });
});

describe('a request that is denied', () => {
  it.each([
    ['HTTP_NOT_DECLARED', { grant: 'none' }, '/', 'GET'],
    ['METHOD_NOT_DECLARED', { rule: { methods: ['HEAD'] } }, '/', 'GET'],
    ['PATH_NOT_DECLARED', { rule: { paths: ['/v1/**'] } }, '/v2', 'GET'],
    ['PATH_AMBIGUOUS', {}, '/a/%2e%2e/b', 'GET'],
  ] as const)('for %s reaches nobody, and says so to the cell and on record', async (reason, options, path, method) => {
    const { origin, cell, url } = await opened(hello, options as Partial<CellOptions>);
    const answer = await cell.ask(url(path), { method });
    expect(answer).toMatchObject({
      status: 403,
      headers: { 'glovebox-egress': 'denied', 'content-type': 'application/problem+json' },
      problem: { code: 'EGRESS_DENIED', reason },
    });
    expect(cell.records).toMatchObject([{ seq: 1, outcome: 'denied', reason, rule: null, status: null }]);
    expect(origin.connections).toBe(0);
    expect((await opened(hello).then(({ cell: twin, url: at }) => twin.ask(at('/')))).text).toBe('hello');
  });

  it('has the patch that would allow it, and who has to agree', async () => {
    const { cell, origin } = await opened(hello);
    const { problem } = await cell.ask(`https://other.test:${origin.port}/x`);
    expect(problem).toMatchObject({
      reason: 'HOST_NOT_DECLARED',
      approver: 'approver',
      patch: { rules: [{ host: 'other.test', port: origin.port, methods: ['GET'], paths: ['/x'] }] },
    });
  });

  it('for the address that its name leads to is told by who could allow that', async () => {
    const { cell, url, origin } = await opened(hello, { policy: { allowances: [] } });
    const answer = await cell.ask(url('/'));
    expect(answer.problem).toMatchObject({ code: 'EGRESS_DENIED', reason: 'ADDRESS_NOT_PUBLIC', approver: 'admin' });
    expect(answer.text).not.toContain('127.');
    expect(cell.records).toMatchObject([
      { outcome: 'open' },
      { outcome: 'denied', rule: expect.stringMatching(/^special:/) },
    ]);
    expect(origin.connections).toBe(0);
  });

  it('has nothing of a URL on record that nobody could read', async () => {
    const { cell } = await opened(hello);
    const { problem } = await cell.ask('https://user:secret@origin.test/');
    expect(problem).toMatchObject({ reason: 'URL_REFUSED' });
    expect(JSON.stringify([problem, cell.records])).not.toContain('secret');
    expect(cell.records).toMatchObject([{ host: '', path: '', reason: 'URL_REFUSED' }]);
  });

  it.each([
    ['glovebox-credential', 'api', 'CREDENTIAL_NOT_AVAILABLE'],
    ['glovebox-retry', '6', 'HEADER_REFUSED'],
    ['glovebox-retry', '-1', 'HEADER_REFUSED'],
    ['glovebox-upgrade', 'h2c', 'HEADER_REFUSED'],
  ])('for asking with %s: %s reaches nobody', async (name, value, reason) => {
    const { cell, url, origin } = await opened(hello);
    const hint = expect.stringMatching(
      name === 'glovebox-credential' ? /without a credential/ : /Leave the header out/,
    );
    expect((await cell.ask(url('/'), { headers: { [name]: value } })).problem).toMatchObject({ reason, hint });
    expect(origin.connections).toBe(0);
    expect((await cell.ask(url('/'), { headers: { 'glovebox-retry': '5' } })).text).toBe('hello');
  });

  it('for the method that a header says it has reaches nobody, unless a rule allows that too', async () => {
    const { origin, cell, url } = await opened(hello, { rule: { methods: ['GET', 'POST'] } });
    const saying = (method: string) => ({ method: 'POST', headers: { 'x-http-method-override': method } });
    const { problem } = await cell.ask(url('/'), saying('DELETE'));
    expect(problem).toMatchObject({ reason: 'METHOD_NOT_DECLARED', patch: { rules: [{ methods: ['DELETE'] }] } });
    const got = await cell.ask(url('/'), { ...saying('POST'), method: 'GET' });
    expect(got.problem).toMatchObject({ reason: 'HEADER_REFUSED' });
    expect(origin.connections).toBe(0);
    expect((await cell.ask(url('/'), saying('GET'))).text).toBe('hello');
  });

  it('is answered 10,000 times, then ends the attempt', async () => {
    const { cell } = await opened(hello, { grant: 'none' });
    const refused = async (): Promise<number> => {
      const request = bareRequest('https://origin.test/');
      await cell.session.accept(request);
      return request.status;
    };
    for (let i = 0; i < 9_999; i++) await refused();
    expect([await refused(), cell.abuses]).toEqual([403, []]);
    expect([await refused(), await refused()]).toEqual([0, 0]);
    expect(cell.abuses).toHaveLength(1);
    expect(cell.session.summary.requests).toBe(10_002);
  });
});

it('is over budget where 64 others are open', async () => {
  const { origin, cell, url } = await opened(() => undefined);
  const open = Array.from({ length: 64 }, () => bareRequest(url('/')));
  for (const request of open) void cell.session.accept(request);
  await until(() => origin.seen.length === 64);
  const one = bareRequest(url('/'));
  await cell.session.accept(one);
  expect(one.status).toBe(403);
  expect(cell.records.at(-1)).toMatchObject({ seq: 65, outcome: 'over-budget', reason: 'TOO_MANY_REQUESTS' });
  expect(origin.seen).toHaveLength(64);
});

describe('a request that fails on the other side', () => {
  it('is told apart from one that is denied', async () => {
    const { origin, cell, url } = await opened(hello);
    await origin.close();
    const answer = await cell.ask(url('/'));
    expect(answer).toMatchObject({ status: 502, headers: { 'glovebox-egress': 'failed' } });
    expect(answer.problem).toMatchObject({ code: 'EGRESS_FAILED', reason: 'CONNECTION_REFUSED', approver: 'nobody' });
    expect(cell.records.at(-1)).toMatchObject({ outcome: 'failed', reason: 'CONNECTION_REFUSED' });
  });

  it('after its answer has begun is broken off, and names its reason', async () => {
    const { cell, url } = await opened((_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('part', () => response.destroy());
    });
    const stream = cell.open('GET', url('/'));
    stream.end();
    await expect(readAnswer(stream)).rejects.toThrow(/CONNECTION_LOST/);
    await cell.session.settled();
    expect(cell.records.at(-1)).toMatchObject({ outcome: 'failed', reason: 'CONNECTION_LOST', status: 200 });
  });

  it('with a head that no channel carries is failed, not a defect of ours', async () => {
    const { cell, url } = await opened((_request, response) => {
      for (let i = 0; i < 200; i++) response.setHeader(`x-${i}`, 'y');
      response.end();
    });
    expect((await cell.ask(url('/'))).problem).toMatchObject({ reason: 'HEADERS_TOO_LARGE' });
  });

  it.each([
    ['plain text', 'x', 30_000, 33_000],
    ['what is not ASCII', '\xe9', 5_000, 6_000],
    ['quotes', '"', 15_000, 17_000],
    ['tabs', 'a\tb', 4_000, 4_200],
  ])(
    'with a head of %s passes as far as a channel carries it, and is too large beyond',
    async (_, text, fits, over) => {
      const { cell, url } = await opened((request, response) => {
        response.setHeader('x-long', text.repeat(request.url === '/fits' ? fits : over));
        // Of a head and a text together Node.js would write both in UTF-8.
        response.end(Buffer.from('hello'));
      });
      expect((await cell.ask(url('/fits'))).headers['x-long']).toBe(text.repeat(fits));
      expect((await cell.ask(url('/over'))).problem).toMatchObject({ reason: 'HEADERS_TOO_LARGE' });
    },
  );

  it('tells nothing of an error that names no reason', async () => {
    const { cell, url } = await opened(hello, {
      screen: async function* () {
        yield Buffer.from('x');
        throw new Error('the secret is 123');
      },
    });
    const stream = cell.open('GET', url('/'));
    stream.end();
    await expect(readAnswer(stream)).rejects.toThrow(/^(?!.*123).*PROTOCOL_ERROR/);
  });
});

describe('records', () => {
  const full = (): Promise<never> => Promise.reject(new GloveboxError('DISK_FULL'));

  it('that cannot be kept let nothing leave, then or later, and fail the end of the attempt', async () => {
    const { origin, cell, url } = await opened(hello, { record: full });
    expect((await cell.ask(url('/'))).problem).toMatchObject({ code: 'EGRESS_FAILED', reason: 'NOT_RECORDED' });
    expect((await cell.ask(url('/'))).problem).toMatchObject({ reason: 'NOT_RECORDED' });
    expect(origin.connections).toBe(0);
    await expect(cell.session.settled()).rejects.toMatchObject({ code: 'DISK_FULL' });
  });

  it('of an end that cannot be kept fail the end of the attempt too, though the cell has its answer', async () => {
    const { cell, url } = await opened(hello, {
      record: (record) => (record.outcome === 'open' ? Promise.resolve() : full()),
    });
    expect((await cell.ask(url('/'))).text).toBe('hello');
    await expect(cell.session.settled()).rejects.toMatchObject({ code: 'DISK_FULL' });
  });

  it('are kept before anything leaves', async () => {
    const room = Promise.withResolvers<void>();
    const { origin, cell, url } = await opened(hello, { record: () => room.promise });
    const answer = cell.ask(url('/'));
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(origin.connections).toBe(0);
    room.resolve();
    expect((await answer).text).toBe('hello');
  });

  it('cut a path to 1,024 characters', async () => {
    const { cell, url } = await opened(hello);
    await cell.ask(url(`/${'a'.repeat(3000)}`));
    expect(cell.records[0]?.path).toHaveLength(1024);
  });
});

it('shows each answer to the screen, decoded, before the cell has it', async () => {
  const seen: string[] = [];
  const { cell, url } = await opened(
    (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('plain')),
    {
      screen: async function* (body) {
        for await (const chunk of body) {
          seen.push(Buffer.from(chunk).toString());
          yield Buffer.from('masked');
        }
      },
    },
  );
  expect((await cell.ask(url('/'))).text).toBe('masked');
  expect(seen.join('')).toBe('plain');
  expect(cell.records.at(-1)).toMatchObject({ bytesDown: 6 });
});

it('opens no session under a policy that is none', async () => {
  const policy = {
    denials: [{ id: 'd', cidr: '10.0.0.1/8', reason: 'bits beyond its prefix' }],
  };
  expect(() => openCell({ port: 443, policy })).toThrow(expect.objectContaining({ code: 'EGRESS_POLICY_INVALID' }));
  expect(() =>
    openCell({ port: 443, policy: { denials: [{ ...policy.denials[0], cidr: '10.0.0.0/8' } as never] } }),
  ).not.toThrow();
});
