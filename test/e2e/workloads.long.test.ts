import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { Origin } from '../../packages/egress/test/origins.ts';
import { type HttpRun, useHttpCells } from '../support/use-http-cells.ts';

/** What people do with such nodes all day, each as a node in a real cell with an origin of this process. */
const { cells, openOrigin, allow, run } = useHttpCells();

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

const MiB = 2 ** 20;
let origin: Origin;

/** Run a handler that asks `url`, which an origin answers. */
async function work(
  answer: Answer,
  body: string,
  more: { http?: object; files?: object; resources?: object; top?: string } & HttpRun = {},
) {
  const { http = {}, files, resources = {}, top = '', ...options } = more;
  origin = await openOrigin(answer);
  await allow(origin.port);
  const methods = ['GET', 'POST'];
  const rules = [{ host: 'origin.test', port: origin.port, methods, paths: ['/**'], reason: 'a test' }];
  const capabilities = { http: { rules, ...http }, ...(files === undefined ? {} : { files }) };
  const head = `const url = 'https://origin.test:${origin.port}/';`;
  return run(
    { top, body: `${head}\n${body}`, manifest: { capabilities, resources: { timeout: '120s', ...resources } } },
    options,
  );
}

/** Bytes that no encoding makes small, the same each time. */
const blockOf = (bytes: number): Buffer => {
  const seed = createHash('shake256', { outputLength: 65_536 }).update('block').digest();
  return Buffer.alloc(bytes, seed);
};

/** Answers with so many blocks, as fast as they are taken. */
const blocks =
  (count: number, block: Buffer): Answer =>
  (_request, response) => {
    let sent = 0;
    const more = (): void => {
      while (sent < count) {
        sent++;
        if (!response.write(block)) return void response.once('drain', more);
      }
      response.end();
    };
    more();
  };

const digestOf = (count: number, block: Buffer): string => {
  const hash = createHash('sha256');
  for (let i = 0; i < count; i++) hash.update(block);
  return `sha256:${hash.digest('hex')}`;
};

const store = `const { sizeBytes } = await ctx.files.write('download.bin', (await ctx.fetch(url)).body); return sizeBytes;`;

describe('identifiers of 19 digits', () => {
  const digits = '7615917337495251231';
  const echo: Answer = async (request, response) => void response.end(await text(request));
  const body = `
    const sent = '{"p_id":' + ctx.input.id + '}';
    const answer = await ctx.fetch(url, { method: 'POST', body: sent, headers: { 'content-type': 'application/json' } });
    return { sent, got: await answer.text() };`;

  it('go as text to an origin and back, digit by digit', async () => {
    const result = await work(echo, body, { input: { id: digits } });
    const json = `{"p_id":${digits}}`;
    expect(result).toMatchObject({ state: 'SUCCEEDED', output: { sent: json, got: json } });
  });

  it('are refused as a number, before anything is asked', async () => {
    const asked = work(echo, body, { input: `{"id":${digits}}` });
    await expect(asked).rejects.toMatchObject({ code: 'INPUT_NOT_JSON', message: expect.stringContaining(digits) });
    expect(origin.connections).toBe(0);
  });
});

describe('a download', () => {
  const block = blockOf(MiB);

  it.each([
    [35, '128MiB'],
    [300, '128MiB'],
  ])('of %i MiB goes through a cell of %s to a file, byte for byte', async (count, memory) => {
    const allowed = `${count + 1}MiB`;
    const result = await work(blocks(count, block), store, {
      http: { maxResponseBytes: allowed },
      files: { maxBytes: allowed, maxCount: 1 },
      resources: { memory },
    });
    expect(result, JSON.stringify(result.error)).toMatchObject({ state: 'SUCCEEDED', output: count * MiB });
    expect(result.files).toMatchObject([{ digest: digestOf(count, block), sizeBytes: count * MiB }]);
    // A third of the larger one: what is held does not grow with what goes through.
    expect(result.peaks.memoryBytes).toBeLessThan(100 * MiB);
  });

  it('over what its node may receive, or keep, ends by the name of the limit', async () => {
    const files = { maxBytes: '64MiB', maxCount: 1 };
    const received = await work(blocks(35, block), store, { http: { maxResponseBytes: '8MiB' }, files });
    expect(received).toMatchObject({ state: 'FAILED', error: { code: 'EGRESS_BUDGET' }, files: [] });
    const http = { maxResponseBytes: '64MiB' };
    const kept = await work(blocks(35, block), store, { http, files: { maxBytes: '8MiB', maxCount: 1 } });
    expect(kept).toMatchObject({ state: 'FAILED', error: { code: 'FILES_LIMIT' }, files: [] });
  });

  it('in many files of middling size takes the memory of none of them, and the one too many is told by its limit', async () => {
    const body = `
      for (let i = 0; i < 20; i++) await ctx.files.write('part-' + i + '.bin', (await ctx.fetch(url + i)).body);
      return 20;`;
    const http = { maxResponseBytes: '128MiB' };
    const all = await work(blocks(5, block), body, { http, files: { maxBytes: '128MiB', maxCount: 20 } });
    expect(all, JSON.stringify(all.error)).toMatchObject({ state: 'SUCCEEDED', output: 20 });
    expect(new Set(all.files.map(({ digest, sizeBytes }) => `${digest} ${sizeBytes}`))).toEqual(
      new Set([`${digestOf(5, block)} ${5 * MiB}`]),
    );
    expect(all.peaks.memoryBytes).toBeLessThan(100 * MiB);
    const fewer = await work(blocks(5, block), body, { http, files: { maxBytes: '128MiB', maxCount: 19 } });
    expect(fewer).toMatchObject({ state: 'FAILED', error: { code: 'FILES_LIMIT' } });
  });
});

it('61,357 rows of 15 columns go through a node and are there to be read again', async () => {
  const rows = 61_357;
  const line = `${Array.from({ length: 15 }, (_, i) => `value ${i}`).join()}\n`;
  const body = `
    let rows = 0;
    const decoder = new TextDecoder();
    async function* lines() {
      let rest = '';
      for await (const chunk of (await ctx.fetch(url)).body) {
        const parts = (rest + decoder.decode(chunk, { stream: true })).split('\\n');
        rest = parts.pop();
        for (const part of parts) { rows++; yield JSON.stringify(part.split(',')) + '\\n'; }
      }
    }
    const { digest } = await ctx.files.write('rows.jsonl', lines(), 'application/jsonl');
    return { rows, digest };`;
  const result = await work(blocks(rows, Buffer.from(line)), body, {
    http: { maxResponseBytes: '64MiB' },
    files: { maxBytes: '64MiB', maxCount: 1 },
  });
  const expected = digestOf(rows, Buffer.from(`${JSON.stringify(line.trim().split(','))}\n`));
  expect(result, JSON.stringify(result.error)).toMatchObject({
    state: 'SUCCEEDED',
    output: { rows, digest: expected },
  });
  const hash = createHash('sha256');
  for await (const chunk of cells().engine.blobs.read(expected)) hash.update(chunk);
  expect(`sha256:${hash.digest('hex')}`).toBe(expected);
});

describe('archives of one year after the other', () => {
  const years = [2021, 2022, 2023, 2024];
  const year = gzipSync(Buffer.alloc(2 * MiB, 'a year of rows\n'));
  const body = `
    const years = ${JSON.stringify(years)};
    for (const [i, year] of years.entries()) {
      const packed = (await ctx.fetch(url + year)).body;
      await ctx.files.write(year + '.csv', packed.pipeThrough(new DecompressionStream('gzip')), 'text/csv');
      ctx.progress((i + 1) / years.length, String(year));
    }
    return years.length;`;
  const files = { maxBytes: '16MiB', maxCount: 4 };

  it('are unpacked as they come, and tell how far they are', async () => {
    const seen: unknown[] = [];
    const result = await work((_request, response) => void response.end(year), body, {
      files,
      events: { onProgress: ({ fraction }) => seen.push(fraction) },
    });
    expect(result, JSON.stringify(result.error)).toMatchObject({ state: 'SUCCEEDED', output: 4 });
    expect(result.files.map(({ sizeBytes }) => sizeBytes)).toEqual(years.map(() => 2 * MiB));
    expect(seen.at(-1)).toBe(1);
  });

  it('that would unpack to gigabytes end at the limit of files', async () => {
    const part = gzipSync(Buffer.alloc(64 * MiB));
    const bomb = Buffer.concat(Array.from({ length: 32 }, () => part));
    const result = await work((_request, response) => void response.end(bomb), body, { files });
    expect(result).toMatchObject({ state: 'FAILED', error: { code: 'FILES_LIMIT' } });
    // Of 128 MiB, past which it would be killed.
    expect(result.peaks.memoryBytes).toBeLessThan(100 * MiB);
  });

  it('are given up when the run is cancelled', async () => {
    const controller = new AbortController();
    const answer: Answer = (request, response) => {
      if (request.url === '/2022') controller.abort('no longer wanted');
      else response.end(year);
    };
    const result = await work(answer, body, { files, signal: controller.signal });
    expect(result).toMatchObject({ state: 'CANCELLED', error: { code: 'CANCELLED' } });
    expect(origin.seen.map(({ url }) => url)).toEqual(['/2021', '/2022']);
    expect(origin.sockets.size).toBe(0);
  });
});

describe('pages', () => {
  const read = (stop: string) => `
    const pages = []; let next = url + '0'; let stopped = 'end';
    while (next) {
      let answer;
      try { answer = await ctx.fetch(next); } catch (error) { if (error.code !== 'EGRESS_BUDGET') throw error; stopped = error.code; break; }
      const text = await answer.text();
      ${stop}
      pages.push(text);
      next = url + pages.length;
    }
    return { pages: pages.length, stopped };`;

  it('that never end stop at the budget, with the pages so far', async () => {
    const endless: Answer = (_request, response) => void response.end('["more"]');
    const result = await work(endless, read(''), { http: { maxRequests: 25 } });
    expect(result).toMatchObject({ state: 'SUCCEEDED', output: { pages: 25, stopped: 'EGRESS_BUDGET' } });
    expect(origin.seen).toHaveLength(25);
  });

  it.each<[string, (response: ServerResponse) => void]>([
    ['an empty body', (response) => void response.end()],
    ['204', (response) => void response.writeHead(204).end()],
    ['[]', (response) => void response.end('[]')],
    ['{}', (response) => void response.end('{}')],
  ])('end cleanly where the last is %s', async (_what, last) => {
    const answer: Answer = (request, response) =>
      request.url === '/3' ? last(response) : void response.end('["entry"]');
    const isLast = `if (answer.status === 204 || ['', '[]', '{}'].includes(text)) break;`;
    const result = await work(answer, read(isLast));
    expect(result, JSON.stringify(result.error)).toMatchObject({
      state: 'SUCCEEDED',
      output: { pages: 3, stopped: 'end' },
    });
  });

  it('of an origin that takes 10 requests a second come at that pace, 200 of them', async () => {
    const times: number[] = [];
    const answer: Answer = (_request, response) => {
      times.push(performance.now());
      response.end('[]');
    };
    const body = `
      for (let page = 0; page < 200; page++) {
        await (await ctx.fetch(url + page)).text();
        // From the answer on: a request that was long on its way would else be followed too soon.
        await ctx.clock.sleep(102);
      }
      return 200;`;
    const result = await work(answer, body, { http: { maxRequests: 200 } });
    expect(result, JSON.stringify(result.error)).toMatchObject({ state: 'SUCCEEDED', output: 200 });
    const most = Math.max(...times.map((at) => times.filter((other) => other >= at && other < at + 1000).length));
    expect(most).toBeLessThanOrEqual(10);
  });
});

describe('an origin that asks to wait', () => {
  it('by its body alone is waited for by the node, within its time', async () => {
    let firstAt = 0;
    let waitedMs = 0;
    const answer: Answer = (_request, response) => {
      if (firstAt === 0) {
        firstAt = performance.now();
        response.writeHead(429, { 'content-type': 'application/json' }).end('{"wait_seconds":3}');
      } else {
        waitedMs = performance.now() - firstAt;
        response.end('done');
      }
    };
    const body = `
      for (;;) {
        const answer = await ctx.fetch(url);
        if (answer.status !== 429) return answer.text();
        await ctx.clock.sleep((await answer.json()).wait_seconds * 1000);
      }`;
    const result = await work(answer, body);
    expect(result).toMatchObject({ state: 'SUCCEEDED', output: 'done' });
    expect(waitedMs).toBeGreaterThanOrEqual(2990);
  });

  it('by a date is waited for outside, where the node asks for retries', async () => {
    let due = 0;
    let cameAt = 0;
    const answer: Answer = (_request, response) => {
      if (due === 0) {
        // A date has whole seconds.
        due = Math.ceil((Date.now() + 2000) / 1000) * 1000;
        response.writeHead(429, { 'retry-after': new Date(due).toUTCString() }).end();
      } else {
        cameAt = Date.now();
        response.end('done');
      }
    };
    const result = await work(answer, `return (await ctx.fetch(url, { retry: 1 })).text();`);
    expect(result).toMatchObject({ state: 'SUCCEEDED', output: 'done' });
    expect(cameAt).toBeGreaterThanOrEqual(due);
  });

  it('longer than the attempt has is not waited for', async () => {
    const answer: Answer = (_request, response) => void response.writeHead(429, { 'retry-after': '3600' }).end();
    const result = await work(answer, `return (await ctx.fetch(url, { retry: 5 })).status;`, {
      resources: { timeout: '30s' },
    });
    expect(result).toMatchObject({ state: 'SUCCEEDED', output: 429 });
    expect(origin.seen).toHaveLength(1);
  });
});

describe('an origin that takes a request and never answers', () => {
  it('is given up after the time that the node sets', async () => {
    const body = `
      const started = ctx.clock.now();
      const error = await ctx.fetch(url, { signal: AbortSignal.timeout(1500) }).catch((error) => error);
      return [error.name, ctx.clock.now() - started];`;
    const result = await work(() => undefined, body);
    expect(result).toMatchObject({ state: 'SUCCEEDED', output: ['TimeoutError', expect.any(Number)] });
    const [, tookMs] = result.output as [string, number];
    expect(tookMs).toBeGreaterThanOrEqual(1490);
    expect(tookMs).toBeLessThan(10_000);
  });

  it('does not outlive the deadline of its attempt', async () => {
    const result = await work(() => undefined, `return (await ctx.fetch(url)).status;`, {
      resources: { timeout: '4s' },
    });
    expect(result).toMatchObject({ state: 'TIMED_OUT' });
    expect(origin.sockets.size).toBe(0);
  });

  it('is given up at once when the run is cancelled', async () => {
    const controller = new AbortController();
    const started = performance.now();
    const result = await work(() => controller.abort('no longer wanted'), `return (await ctx.fetch(url)).status;`, {
      signal: controller.signal,
    });
    expect(result).toMatchObject({ state: 'CANCELLED' });
    expect(performance.now() - started).toBeLessThan(60_000);
    expect(origin.sockets.size).toBe(0);
  });
});
