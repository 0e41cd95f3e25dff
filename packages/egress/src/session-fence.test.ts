import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { closeDialers } from '../test/dialing.ts';
import { closeOrigins, type Handler, openHttp1 } from '../test/origins.ts';
import { type Cell, type CellOptions, closeCells, deadlineMs, openCell, readAnswer, until } from '../test/sessions.ts';

afterEach(async () => {
  closeCells();
  closeDialers();
  await closeOrigins();
});

/** An origin that counts the bytes of bodies, and answers when a test has it do so. */
async function opened(options: Partial<CellOptions> = {}, answer?: Handler) {
  const got = { bytes: 0, closed: 0 };
  const answers: ServerResponse[] = [];
  const origin = await openHttp1((request, response) => {
    request.on('data', (chunk: Buffer) => {
      got.bytes += chunk.length;
    });
    response.once('close', () => got.closed++);
    answers.push(response);
    answer?.(request, response);
  });
  const cell = openCell({ port: origin.port, rule: { scheme: 'http' }, ...options });
  return { origin, cell, got, answers, url: `http://origin.test:${origin.port}/` };
}
const hello: Handler = (_request, response) => void response.end('hello');
/** For what must not come to have come. */
const aWhile = (): Promise<void> => sleep(150);

describe('at the deadline', () => {
  it('no request is admitted any more', async () => {
    const { origin, cell, url } = await opened({}, hello);
    cell.clock.ms = deadlineMs - 30_000;
    expect((await cell.ask(url)).text).toBe('hello');
    cell.clock.ms = deadlineMs;
    expect(await cell.ask(url)).toMatchObject({
      status: 403,
      headers: { 'glovebox-egress': 'denied' },
      problem: { code: 'EGRESS_DENIED', reason: 'ATTEMPT_ENDED', approver: 'nobody' },
    });
    expect(cell.records.at(-1)).toMatchObject({ seq: 2, outcome: 'denied', reason: 'ATTEMPT_ENDED' });
    expect(origin.seen).toHaveLength(1);
  });

  it('not even where the clock tells nothing', async () => {
    const { origin, cell, url } = await opened({ bootMs: () => Number.NaN }, hello);
    expect((await cell.ask(url)).problem).toMatchObject({ reason: 'ATTEMPT_ENDED' });
    expect(origin.connections).toBe(0);
  });

  it.each([
    ['goes on', 'before', 20_000],
    ['ends', 'at', 10_000],
  ])('an upload %s: the next chunk comes %s it', async (_, when, bytes) => {
    const { cell, got, answers, url } = await opened();
    const upload = cell.open('PUT', url);
    await upload.write(Buffer.alloc(10_000));
    await until(() => got.bytes === 10_000);
    cell.clock.ms = when === 'at' ? deadlineMs : deadlineMs - 1;
    await upload.write(Buffer.alloc(10_000));
    upload.end();
    if (when === 'at') {
      await expect(readAnswer(upload)).rejects.toThrow(/ATTEMPT_ENDED/);
      await until(() => got.closed === 1);
    } else {
      await until(() => got.bytes === 20_000);
      answers[0]?.end('done');
      expect((await readAnswer(upload)).text).toBe('done');
    }
    await aWhile();
    await cell.session.settled();
    expect(got.bytes).toBe(bytes);
    expect(cell.records.at(-1)).toMatchObject(
      when === 'at' ? { outcome: 'aborted', reason: 'ATTEMPT_ENDED' } : { outcome: 'done', reason: null },
    );
  });

  it.each([
    ['goes on', 'before', 'firstsecond'],
    ['ends', 'at', 'first'],
  ])('an answer %s: the next chunk comes %s it', async (_, when, text) => {
    const { cell, answers, url } = await opened();
    const stream = cell.open('GET', url);
    stream.end();
    await until(() => answers.length === 1);
    answers[0]?.write('first');
    let read = '';
    const reading = (async () => {
      for await (const chunk of stream.body) read += Buffer.from(chunk).toString();
    })().catch(() => 'broken off');
    await until(() => read === 'first');
    cell.clock.ms = when === 'at' ? deadlineMs : deadlineMs - 1;
    answers[0]?.end('second');
    expect(await reading).toBe(when === 'at' ? 'broken off' : undefined);
    expect(read).toBe(text);
    await cell.session.settled();
    expect(cell.records.at(-1)).toMatchObject({ outcome: when === 'at' ? 'aborted' : 'done', bytesDown: text.length });
  });

  it('what waits in silence is aborted, and connections that are kept are closed', async () => {
    const started = performance.now();
    const options = { bootMs: () => performance.now(), deadlineAtBootMs: started + 700 };
    const { origin, cell, got, url } = await opened(options, (request, response) => {
      if (request.url === '/quick') response.end('hello');
    });
    expect((await cell.ask(`${url}quick`)).text).toBe('hello');
    const silent = cell.open('GET', url);
    silent.end();
    await until(() => origin.seen.length === 2);
    expect([origin.sockets.size, got.closed]).not.toEqual([0, 2]);
    await expect(silent.response).rejects.toThrow(/ATTEMPT_ENDED/);
    expect(performance.now() - started).toBeGreaterThanOrEqual(690);
    await until(() => origin.sockets.size === 0);
    await cell.session.settled();
    expect(cell.records.at(-1)).toMatchObject({ outcome: 'aborted', reason: 'ATTEMPT_ENDED' });
  });
});

describe('the end of an attempt', () => {
  it('stops an upload at once, and refuses what is new', async () => {
    const { origin, cell, got, url } = await opened();
    const upload = cell.open('PUT', url);
    await upload.write(Buffer.alloc(10_000));
    await until(() => got.bytes === 10_000);
    const more = upload.write(Buffer.alloc(10_000)).catch(() => undefined);
    cell.session.end();
    const late = cell.open('GET', url);
    late.end();
    await expect(readAnswer(upload)).rejects.toThrow(/ATTEMPT_ENDED/);
    await expect(readAnswer(late)).rejects.toThrow(/ATTEMPT_ENDED/);
    await more;
    await cell.session.settled();
    await aWhile();
    expect(got).toEqual({ bytes: 10_000, closed: 1 });
    expect([origin.seen.length, origin.sockets.size]).toEqual([1, 0]);
    expect(cell.records.map(({ outcome }) => outcome)).toEqual(['open', 'aborted']);
  });

  it('closes connections that are kept', async () => {
    const { origin, cell, url } = await opened({}, hello);
    await cell.ask(url);
    expect(origin.sockets.size).toBe(1);
    const endedAtMs = performance.now();
    cell.session.end();
    await until(() => origin.sockets.size === 0);
    // Left to itself the origin closes it after 5 s.
    expect(performance.now() - endedAtMs).toBeLessThan(3000);
  });

  const moments: [string, Partial<CellOptions>, Handler | undefined, (cell: Cell, url: string) => unknown][] = [
    ['the body of a request has not begun', {}, hello, (cell, url) => cell.open('PUT', url)],
    ['its origin has not answered', {}, undefined, (cell, url) => cell.open('GET', url).end()],
    [
      'it waits to try again',
      {},
      (_request, response) => void response.writeHead(503, { 'retry-after': '30' }).end(),
      (cell, url) => cell.open('GET', url, { 'glovebox-retry': '5' }).end(),
    ],
    [
      'the cell does not read its answer',
      {},
      (_request, response) => void response.end(Buffer.alloc(4 * 2 ** 20)),
      (cell, url) => cell.open('GET', url).end(),
    ],
    [
      'the screen holds its answer back',
      {
        screen: async function* (body) {
          for await (const chunk of body) if (chunk.byteLength < 0) yield chunk;
        },
      },
      (_request, response) => void response.write('held back'),
      (cell, url) => cell.open('GET', url).end(),
    ],
  ];
  it.each(moments)('is not held up where %s', async (_, options, answer, act) => {
    const { origin, cell, url } = await opened(options, answer);
    act(cell, url);
    await aWhile();
    const seen = origin.seen.length;
    cell.session.end();
    const settled = await Promise.race([cell.session.settled().then(() => 'settled'), sleep(5000, 'held up')]);
    await aWhile();
    expect(settled).toBe('settled');
    expect(origin.seen).toHaveLength(seen);
    expect(cell.records.at(-1)).toMatchObject({ outcome: 'aborted', reason: 'ATTEMPT_ENDED' });
  });

  it('keeps a request from being made that was still being recorded', async () => {
    const room = Promise.withResolvers<void>();
    const { origin, cell, url } = await opened({ record: () => room.promise }, hello);
    cell.open('GET', url).end();
    await aWhile();
    cell.session.end();
    room.resolve();
    await cell.session.settled();
    await aWhile();
    expect(origin.connections).toBe(0);
    expect(cell.session.summary.decisions).toMatchObject([{ outcome: 'aborted', reason: 'ATTEMPT_ENDED' }]);
  });

  it('settles when every request has been told for the last time, however slowly that is taken', async () => {
    let told = 0;
    const slow = async (): Promise<void> => {
      await sleep(100);
      told++;
    };
    const { cell, url } = await opened({ record: slow }, hello);
    const asks = Array.from({ length: 5 }, () => cell.ask(url));
    await Promise.all(asks);
    cell.session.end();
    await cell.session.settled();
    expect(told).toBe(10);
  });
});
