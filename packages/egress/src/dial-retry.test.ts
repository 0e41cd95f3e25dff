import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { ask, bytes, closeDialers, failure, openScope, readText, reasonOf } from '../test/dialing.ts';
import { closeOrigins, openHttp1, openRaw } from '../test/origins.ts';

afterEach(async () => {
  closeDialers();
  await closeOrigins();
});

const plain = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** Answers with these statuses in turn, and then with 200. */
function answering(statuses: readonly number[], headers: Record<string, string> = {}) {
  let at = 0;
  return openHttp1((_request, response) => {
    const status = statuses[at++] ?? 200;
    response.writeHead(status, status === 200 ? {} : headers).end(String(status));
  });
}

describe('a request that may be repeated', () => {
  it('is, until it is answered', async () => {
    const origin = await answering([503, 429], { 'retry-after': '0' });
    const answer = await openScope().request(ask(`http://origin.test:${origin.port}/`, { retries: 5 }));
    expect(answer).toMatchObject({ status: 200, retries: 2 });
    expect(await readText(answer.body)).toBe('200');
    expect(origin.seen).toHaveLength(3);
  });

  it('waits for the time that it is told, as a date too', async () => {
    const date = new Date(Date.now() + 2_000).toUTCString();
    const origin = await answering([503], { 'retry-after': date });
    const startedAtMs = performance.now();
    const answer = await openScope().request(ask(`http://origin.test:${origin.port}/`, { retries: 1 }));
    expect(answer.status).toBe(200);
    expect(performance.now() - startedAtMs).toBeGreaterThan(900);
  });

  it('gives the answer as it is when it was told to wait past its deadline, or has no try left', async () => {
    const late = await answering([503], { 'retry-after': '100' });
    const answer = await openScope().request(ask(`http://origin.test:${late.port}/`, { retries: 5 }));
    expect(answer).toMatchObject({ status: 503, retries: 0 });
    expect(await readText(answer.body)).toBe('503');

    const busy = await answering([503, 503, 503], { 'retry-after': '0' });
    const last = await openScope().request(ask(`http://origin.test:${busy.port}/`, { retries: 2 }));
    expect(last).toMatchObject({ status: 503, retries: 2 });
  });

  it('ends at once when it is given up while it waits', async () => {
    const origin = await answering([503], { 'retry-after': '30' });
    const giving = new AbortController();
    const request = openScope().request(
      ask(`http://origin.test:${origin.port}/`, { retries: 1, signal: giving.signal }),
    );
    await expect.poll(() => origin.seen.length).toBe(1);
    await sleep(50);
    giving.abort();
    expect(await reasonOf(request)).toBe('CONNECTION_LOST');
    expect(origin.seen).toHaveLength(1);
  });

  it('is tried again where the connection breaks before an answer', async () => {
    const origin = await openRaw((socket, _head, nth) => (nth < 3 ? socket.resetAndDestroy() : socket.end(plain)));
    const answer = await openScope().request(ask(`http://origin.test:${origin.port}/`, { retries: 3 }));
    expect(answer).toMatchObject({ status: 200, retries: 2 });
  });

  it('asks the fence before each try', async () => {
    const origin = await answering([503], { 'retry-after': '1' });
    let isOpen = true;
    const fence = (): void => {
      if (!isOpen) throw new Error('closed');
    };
    const request = openScope().request(ask(`http://origin.test:${origin.port}/`, { retries: 1, fence }));
    await expect.poll(() => origin.seen.length).toBe(1);
    isOpen = false;
    await failure(request);
    expect(origin.seen).toHaveLength(1);
  });
});

it.each([
  ['POST', undefined],
  ['GET', () => bytes(Buffer.from('x'), 1)],
] as const)('%s with a body of %s is never repeated', async (method, body) => {
  const origin = await answering([503, 503], { 'retry-after': '0' });
  const answer = await openScope().request(
    ask(`http://origin.test:${origin.port}/`, { method, body: body?.(), retries: 5 }),
  );
  expect(answer).toMatchObject({ status: 503, retries: 0 });
  expect(origin.seen).toHaveLength(1);
});

describe('a kept connection that the other side closes when it is used again', () => {
  /** Answers once on each connection, and resets it at the next request. */
  const once = () =>
    openRaw((socket) => {
      socket.write(plain);
      socket.once('data', () => socket.resetAndDestroy());
    });

  it('costs a safe request nothing, not even a retry', async () => {
    const origin = await once();
    const scope = openScope();
    const url = `http://origin.test:${origin.port}/`;
    for (let nth = 0; nth < 3; nth++) {
      const answer = await scope.request(ask(url));
      expect(answer.retries).toBe(0);
      expect(await readText(answer.body)).toBe('ok');
    }
    expect(origin.connections).toBe(3);
  });

  it('fails what is not safe: it may have been done', async () => {
    const origin = await once();
    const scope = openScope();
    const url = `http://origin.test:${origin.port}/`;
    await readText((await scope.request(ask(url))).body);
    expect(await reasonOf(scope.request(ask(url, { method: 'POST' })))).toBe('CONNECTION_LOST');
    expect(origin.connections).toBe(1);
  });

  it('costs nothing at all where it was closed before', async () => {
    const origin = await openRaw((socket) => {
      socket.write(plain);
      setTimeout(() => socket.end(), 20);
    });
    const scope = openScope();
    const url = `http://origin.test:${origin.port}/`;
    for (let nth = 0; nth < 2; nth++) {
      const body = bytes(Buffer.from('x'), 1);
      expect(await readText((await scope.request(ask(url, { method: 'POST', body }))).body)).toBe('ok');
      await sleep(60);
    }
    expect(origin.connections).toBe(2);
  });

  it('is tried again only once: an origin that always resets is lost', async () => {
    const origin = await openRaw((socket, _head, nth) => {
      if (nth > 1) return void socket.resetAndDestroy();
      socket.write(plain);
      socket.once('data', () => socket.resetAndDestroy());
    });
    const scope = openScope();
    const url = `http://origin.test:${origin.port}/`;
    await readText((await scope.request(ask(url))).body);
    expect(await reasonOf(scope.request(ask(url)))).toBe('CONNECTION_LOST');
    expect(origin.connections).toBe(2);
  });
});
