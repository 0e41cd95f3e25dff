import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { closeDialers } from '../test/dialing.ts';
import { closeOrigins, type Handler, openHttp1 } from '../test/origins.ts';
import { type CellOptions, closeCells, openCell, readAnswer, until } from '../test/sessions.ts';

afterEach(async () => {
  closeCells();
  closeDialers();
  await closeOrigins();
});

async function opened(handler: Handler, grant: NonNullable<CellOptions['grant']>) {
  const origin = await openHttp1(handler);
  const cell = openCell({ port: origin.port, grant, rule: { scheme: 'http' } });
  return { origin, cell, url: (path: string) => `http://origin.test:${origin.port}${path}` };
}
const hello: Handler = (_request, response) => void response.end('hello');

describe('the number of requests', () => {
  it('ends at maxRequests, whatever came of them', async () => {
    const { origin, cell, url } = await opened(
      (request, response) => (request.url === '/lost' ? response.destroy() : response.writeHead(500).end()),
      { maxRequests: 3 },
    );
    expect((await cell.ask(url('/'))).status).toBe(500);
    expect((await cell.ask(url('/lost'), { method: 'POST' })).problem).toMatchObject({ reason: 'CONNECTION_LOST' });
    expect((await cell.ask(url('/'))).status).toBe(500);
    const answer = await cell.ask(url('/'));
    expect(answer).toMatchObject({ status: 403, headers: { 'glovebox-egress': 'over-budget' } });
    expect(answer.problem).toMatchObject({ code: 'EGRESS_BUDGET', reason: 'TOO_MANY_REQUESTS', approver: 'approver' });
    expect(cell.records.at(-1)).toMatchObject({ seq: 4, outcome: 'over-budget', reason: 'TOO_MANY_REQUESTS' });
    expect(origin.seen).toHaveLength(3);
  });

  it('is not used up by what the policy denies', async () => {
    const { cell, url } = await opened(hello, { maxRequests: 1 });
    for (let i = 0; i < 3; i++) expect((await cell.ask('http://other.test/')).status).toBe(403);
    expect((await cell.ask(url('/'))).text).toBe('hello');
  });

  it('counts each retry, and allows none beyond it', async () => {
    const busy: Handler = (_request, response) => void response.writeHead(503, { 'retry-after': '0' }).end();
    const { origin, cell, url } = await opened(busy, { maxRequests: 3 });
    expect((await cell.ask(url('/'), { headers: { 'glovebox-retry': '5' } })).status).toBe(503);
    expect(origin.seen).toHaveLength(3);
    expect(cell.records.at(-1)).toMatchObject({ retries: 2 });
    expect((await cell.ask(url('/'))).problem).toMatchObject({ reason: 'TOO_MANY_REQUESTS' });
  });

  it('counts the retries of one that fails, and tells where each went', async () => {
    const { origin, cell, url } = await opened((_request, response) => void response.destroy(), { maxRequests: 4 });
    const { problem } = await cell.ask(url('/'), { headers: { 'glovebox-retry': '2' } });
    expect(problem).toMatchObject({ reason: 'CONNECTION_LOST' });
    expect(cell.records.at(-1)).toMatchObject({ outcome: 'failed', address: '127.0.0.1', protocol: 'h1', retries: 2 });
    expect(origin.seen).toHaveLength(3);
    expect((await cell.ask(url('/'))).problem).toMatchObject({ reason: 'CONNECTION_LOST' });
    expect((await cell.ask(url('/'))).problem).toMatchObject({ reason: 'TOO_MANY_REQUESTS' });
  });

  it('leaves to others what a request does not need of its retries, while it goes on and afterwards', async () => {
    const { origin, cell, url } = await opened(
      (request, response) => (request.url === '/slow' ? undefined : void response.end('hello')),
      { maxRequests: 3 },
    );
    const slow = cell.open('GET', url('/slow'), { 'glovebox-retry': '5' });
    slow.end();
    await until(() => origin.seen.length === 1);
    const retrying = { headers: { 'glovebox-retry': '5' } };
    for (let i = 0; i < 2; i++) expect((await cell.ask(url('/'), retrying)).text).toBe('hello');
    expect((await cell.ask(url('/'))).problem).toMatchObject({ reason: 'TOO_MANY_REQUESTS' });
  });

  it('allows no retry of what is not safe to repeat', async () => {
    const busy: Handler = (_request, response) => void response.writeHead(503, { 'retry-after': '0' }).end();
    const { origin, cell, url } = await opened(busy, {});
    await cell.ask(url('/'), { method: 'POST', headers: { 'glovebox-retry': '5' } });
    expect(origin.seen).toHaveLength(1);
  });
});

describe('the bytes of all answers', () => {
  const sized: Handler = (request, response) => {
    const bytes = Number(request.url?.slice(1));
    response.writeHead(200, { 'content-length': String(bytes) }).end(Buffer.alloc(bytes));
  };
  const streamed: Handler = (request, response) => {
    const bytes = Number(request.url?.slice(1));
    response.write(Buffer.alloc(bytes - 1));
    response.end(Buffer.alloc(1));
  };

  it('end at maxResponseBytes, to the byte, over all of them', async () => {
    const { cell, url } = await opened(streamed, { maxResponseBytes: 1000 });
    expect((await cell.ask(url('/600'))).text).toHaveLength(600);
    expect((await cell.ask(url('/400'))).text).toHaveLength(400);
    const stream = cell.open('GET', url('/2'));
    stream.end();
    await expect(readAnswer(stream)).rejects.toThrow(/RESPONSE_TOO_LARGE/);
    await cell.session.settled();
    expect(cell.records.at(-1)).toMatchObject({ outcome: 'over-budget', reason: 'RESPONSE_TOO_LARGE' });
  });

  it('are known from the length where it is told, before the answer begins', async () => {
    const { cell, url } = await opened(sized, { maxResponseBytes: 1000 });
    const answer = await cell.ask(url('/1001'));
    expect(answer).toMatchObject({ status: 403, headers: { 'glovebox-egress': 'over-budget' } });
    expect(answer.problem).toMatchObject({ code: 'EGRESS_BUDGET', reason: 'RESPONSE_TOO_LARGE' });
    expect((await cell.ask(url('/1000'))).text).toHaveLength(1000);
  });

  it('are not those that HEAD tells of', async () => {
    const { cell, url } = await opened(sized, { maxResponseBytes: 1000 });
    expect((await cell.ask(url('/5000'), { method: 'HEAD' })).headers).toMatchObject({ 'content-length': '5000' });
  });

  it('count as they are unpacked, and what goes over is not unpacked further', async () => {
    const bomb = gzipSync(Buffer.alloc(50 * 2 ** 20));
    const { cell, url } = await opened(
      (_request, response) => void response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb),
      { maxResponseBytes: 2 ** 20 },
    );
    const stream = cell.open('GET', url('/'));
    stream.end();
    let read = 0;
    const reading = async (): Promise<void> => {
      for await (const chunk of stream.body) read += chunk.byteLength;
    };
    await expect(reading()).rejects.toThrow(/RESPONSE_TOO_LARGE/);
    await cell.session.settled();
    expect(read).toBeLessThanOrEqual(2 ** 20);
    expect(cell.records.at(-1)?.bytesDown).toBeLessThanOrEqual(2 ** 20);
  });

  it('are one budget for answers at the same time', async () => {
    const { cell, url } = await opened(streamed, { maxResponseBytes: 100_000 });
    const answers = await Promise.allSettled(Array.from({ length: 20 }, () => cell.ask(url('/10000'))));
    await cell.session.settled();
    const got = cell.records.reduce((sum, { bytesDown }) => sum + bytesDown, 0);
    expect(answers.filter(({ status }) => status === 'rejected').length).toBeGreaterThanOrEqual(10);
    expect(got).toBeLessThanOrEqual(100_000);
    expect(got).toBeGreaterThan(0);
  });
});

describe('redirects', () => {
  /** /3 → /2 → /1 → /0 → an answer. */
  const countdown: Handler = (request, response) => {
    const left = Number(request.url?.slice(1));
    if (left === 0) response.end('there');
    else response.writeHead(302, { location: `/${left - 1}#fragment` }).end();
  };
  const follow = async (cell: ReturnType<typeof openCell>, url: string) => {
    for (let at = url; ; ) {
      const answer = await cell.ask(at);
      if (answer.headers.location === undefined) return answer;
      at = new URL(answer.headers.location, at).href.replace(/#.*/, '');
    }
  };

  it('are each a request of their own, and end at maxRedirects', async () => {
    const { origin, cell, url } = await opened(countdown, { maxRedirects: 3 });
    expect((await follow(cell, url('/3'))).text).toBe('there');
    expect(origin.seen).toHaveLength(4);
    const answer = await follow(cell, url('/4'));
    expect(answer.problem).toMatchObject({ code: 'EGRESS_BUDGET', reason: 'TOO_MANY_REDIRECTS' });
    expect(origin.seen).toHaveLength(8);
  });

  it('stay too many when they are tried again', async () => {
    const { cell, url } = await opened(countdown, { maxRedirects: 0 });
    await cell.ask(url('/1'));
    for (let i = 0; i < 2; i++)
      expect((await cell.ask(url('/0'))).problem).toMatchObject({ reason: 'TOO_MANY_REDIRECTS' });
  });

  it('in a circle come to an end', async () => {
    const { origin, cell, url } = await opened(
      (request, response) => void response.writeHead(307, { location: request.url === '/a' ? '/b' : '/a' }).end(),
      { maxRedirects: 3 },
    );
    expect((await follow(cell, url('/a'))).problem).toMatchObject({ reason: 'TOO_MANY_REDIRECTS' });
    expect(origin.seen).toHaveLength(4);
  });

  it.each(['http://169.254.169.254/latest', 'http://127.0.0.1:1/', 'http://other.test/', 'file:///etc/passwd'])(
    'to %s lead nowhere, whoever follows them',
    async (location) => {
      const { origin, cell, url } = await opened(
        (_request, response) => void response.writeHead(302, { location }).end(),
        {},
      );
      expect((await cell.ask(url('/'))).headers.location).toBe(location);
      if (location.startsWith('http'))
        expect((await cell.ask(location)).problem).toMatchObject({ code: 'EGRESS_DENIED' });
      expect(origin.seen).toHaveLength(1);
    },
  );

  it('are answers without a location too, which lead nowhere', async () => {
    const { cell, url } = await opened((_request, response) => void response.writeHead(304).end(), { maxRedirects: 0 });
    for (let i = 0; i < 3; i++) expect((await cell.ask(url('/'))).status).toBe(304);
  });
});
