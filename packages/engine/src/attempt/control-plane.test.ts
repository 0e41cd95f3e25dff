import { createHash } from 'node:crypto';
import { duplexPair } from 'node:stream';
import { type ClientStream, connectClient, serveChannel } from '@glovebox/channel';
import {
  defaultEgressPolicy,
  type EgressRecord,
  type Job,
  newAttemptId,
  newRunId,
  type Progress,
} from '@glovebox/contract';
import { createEgress } from '@glovebox/egress';
import { describe, expect, it } from 'vitest';
import type { BlobStore } from '../ports.ts';
import { type CellResult, ControlPlane, type Violation } from './control-plane.ts';
import { LogIntake } from './log-intake.ts';

const bundle = Buffer.from('export default 1;');

function job(limits: Partial<Job['limits']> = {}): Job {
  return {
    ids: { project: 'default', run: newRunId(), attempt: newAttemptId(), node: 'n-n-n', correlation: 'c' },
    nowMs: 0,
    timeoutMs: 1000,
    bundle: { digest: `sha256:${createHash('sha256').update(bundle).digest('hex')}`, sizeBytes: bundle.length },
    limits: { outputBytes: 64, logBytes: 1024, filesBytes: 100, filesCount: 2, scratchBytes: 0, ...limits },
    http: false,
    idempotencyKey: 'k',
    input: { __proto__: null, a: [1] },
    config: {},
  };
}

/** Keeps bytes in memory; the limit is enforced as the port says. */
function memoryBlobs(): BlobStore & { kept: Map<string, Buffer> } {
  const kept = new Map<string, Buffer>();
  return {
    kept,
    async put(source, maxBytes) {
      const chunks: Uint8Array[] = [];
      for await (const chunk of source) chunks.push(chunk);
      const bytes = Buffer.concat(chunks);
      if (bytes.length > maxBytes) throw new Error('the caller did not count');
      const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
      kept.set(digest, bytes);
      return { digest, sizeBytes: bytes.length };
    },
    async *read(digest) {
      yield kept.get(digest) as Buffer;
    },
  };
}

function connected(limits: Partial<Job['limits']> = {}) {
  const [hostEnd, cellEnd] = duplexPair();
  const blobs = memoryBlobs();
  const seen = {
    results: [] as CellResult[],
    /** How many reports had been taken in when a result was. */
    progressAtResult: [] as number[],
    violations: [] as Violation[],
    progress: [] as Progress[],
    logs: [] as string[],
    loaded: 0,
    asked: 0,
    egress: [] as EgressRecord[],
  };
  const logs = new LogIntake({
    limitBytes: 1024,
    now: () => 0,
    onRecord: ({ message }) => seen.logs.push(message),
    onViolation: (v) => seen.violations.push(v),
  });
  const session = createEgress({
    scope: () => {
      throw new Error('nothing is declared');
    },
  }).open({
    project: 'default',
    run: 'run_1',
    attempt: 'att_1',
    node: 'n-n-n',
    grant: undefined,
    policy: defaultEgressPolicy,
    deadlineAtBootMs: Number.POSITIVE_INFINITY,
    bootMs: () => performance.now(),
    now: Date.now,
    record: async (record) => void seen.egress.push(record),
    onAbuse: (detail) => seen.violations.push({ code: 'CHANNEL_ABUSE', detail }),
  });
  const control: ControlPlane = new ControlPlane({
    job: job(limits),
    bundle,
    blobs,
    logs,
    onJobRequested: () => {
      seen.asked++;
      control.dispatch(5, 900, session);
    },
    onLoaded: () => seen.loaded++,
    onProgress: (progress) => seen.progress.push(progress),
    onResult: (result) => {
      seen.results.push(result);
      seen.progressAtResult.push(seen.progress.length);
    },
    onViolation: (violation) => seen.violations.push(violation),
  });
  const server = serveChannel(hostEnd, (stream) => control.accept(stream));
  const client = connectClient(cellEnd);
  const open = (method: string, path: string, headers: Record<string, string> = {}): ClientStream =>
    client.open({ method, url: path.startsWith('http') ? path : `http://control.invalid${path}`, headers });
  const close = (): void => {
    client.close();
    server.close();
  };
  return { control, blobs, seen, open, close };
}

type Cell = ReturnType<typeof connected>;

async function request(cell: Cell, method: string, path: string, body?: string, headers?: Record<string, string>) {
  const stream = cell.open(method, path, headers);
  if (body !== undefined) await stream.write(Buffer.from(body)).catch(() => undefined);
  stream.end();
  const { status } = await stream.response;
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream.body) chunks.push(chunk);
  return { status, text: Buffer.concat(chunks).toString() };
}

/** Asks for the job and tells that the bundle is loaded, as the harness does. */
async function started(limits?: Partial<Job['limits']>): Promise<Cell> {
  const cell = connected(limits);
  await request(cell, 'GET', '/job');
  await request(cell, 'GET', '/bundle');
  await request(cell, 'POST', '/loaded');
  return cell;
}

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));

it('hands out the job with what is left of the time, and the bundle byte for byte', async () => {
  const cell = connected();
  const answer = await request(cell, 'GET', '/job');
  expect(JSON.parse(answer.text)).toMatchObject({ nowMs: 5, timeoutMs: 900, input: { a: [1] } });
  expect((await request(cell, 'GET', '/bundle')).text).toBe(bundle.toString());
  expect(cell.seen.violations).toEqual([]);
  cell.close();
});

describe('a result', () => {
  it('is taken once, as the text that came', async () => {
    const cell = await started();
    cell.open('POST', '/result', { 'glovebox-result': 'output' });
    const stream = cell.open('POST', '/result', { 'glovebox-result': 'output' });
    stream.end();
    await settled();
    expect(cell.seen.violations.map(({ code }) => code)).toEqual(['CHANNEL_ABUSE']);
    cell.close();

    const good = await started();
    const only = good.open('POST', '/result', { 'glovebox-result': 'output' });
    await only.write(Buffer.from('{"b": 1, '));
    await only.write(Buffer.from('"__proto__": {"polluted": true}}'));
    only.end();
    await settled();
    expect(good.seen.results).toEqual([{ kind: 'output', text: '{"b": 1, "__proto__": {"polluted": true}}' }]);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
    good.close();
  });

  it.each<[string, string, string, number?]>([
    ['one byte over the limit', JSON.stringify('x'.repeat(63)), 'OUTPUT_TOO_LARGE'],
    ['an integer that a double cannot hold', '12345678901234567891', 'OUTPUT_NOT_JSON'],
    ['nested too deep', '['.repeat(129), 'OUTPUT_NOT_JSON', 1000],
  ])('that is %s is refused', async (_name, text, code, outputBytes = 64) => {
    const cell = await started({ outputBytes });
    void request(cell, 'POST', '/result', text, { 'glovebox-result': 'output' }).catch(() => undefined);
    await settled();
    expect(cell.seen.results).toEqual([]);
    expect(cell.seen.violations.map((v) => v.code)).toEqual([code]);
    cell.close();
  });

  it('is not parsed here, where it could stall the host', async () => {
    const cell = await started();
    void request(cell, 'POST', '/result', '{"a":', { 'glovebox-result': 'output' }).catch(() => undefined);
    await settled();
    expect(cell.seen.results).toEqual([{ kind: 'output', text: '{"a":' }]);
    cell.close();
  });

  it('that is exactly as long as the limit is taken', async () => {
    const cell = await started();
    void request(cell, 'POST', '/result', JSON.stringify('x'.repeat(62)), { 'glovebox-result': 'output' }).catch(
      () => undefined,
    );
    await settled();
    expect(cell.seen.results).toHaveLength(1);
    cell.close();
  });

  it.each([
    ['of no kind', undefined, '{}'],
    ['of another kind', 'receipt', '{}'],
    ['an error without a code', 'error', '{"message":"m"}'],
    ['an error with an unknown field', 'error', '{"code":"C","message":"m","state":"SUCCEEDED"}'],
  ])('%s ends the attempt', async (_name, kind, text) => {
    const cell = await started();
    void request(cell, 'POST', '/result', text, kind === undefined ? {} : { 'glovebox-result': kind }).catch(
      () => undefined,
    );
    await settled();
    expect(cell.seen.results).toEqual([]);
    expect(cell.seen.violations.map(({ code }) => code)).toEqual(['CHANNEL_ABUSE']);
    cell.close();
  });
});

describe('files', () => {
  it('are stored by digest and told with their size', async () => {
    const cell = await started();
    const answer = await request(cell, 'PUT', '/files/a.txt', 'hello', { 'content-type': 'text/plain' });
    expect(answer.status).toBe(201);
    expect(cell.control.files).toMatchObject([{ name: 'a.txt', mediaType: 'text/plain', sizeBytes: 5 }]);
    expect(cell.blobs.kept.get((cell.control.files[0] as { digest: string }).digest)?.toString()).toBe('hello');
    cell.close();
  });

  it('may not exceed the sum of bytes, one by one or together', async () => {
    const cell = await started();
    expect((await request(cell, 'PUT', '/files/a', 'x'.repeat(60))).status).toBe(201);
    expect((await request(cell, 'PUT', '/files/b', 'x'.repeat(41))).status).toBe(413);
    expect(cell.control.files.map(({ name }) => name)).toEqual(['a']);
    cell.close();
    const both = await started();
    const answers = await Promise.all(['a', 'b'].map((name) => request(both, 'PUT', `/files/${name}`, 'x'.repeat(60))));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 413]);
    both.close();
  });

  it('may not exceed their count, overwrite one another or have odd names', async () => {
    const cell = await started();
    expect((await request(cell, 'PUT', '/files/a', '1')).status).toBe(201);
    expect((await request(cell, 'PUT', '/files/a', '2')).status).toBe(409);
    for (const name of ['..', '.hidden', 'a/b', '%2e%2e', 'x'.repeat(200), '']) {
      expect((await request(cell, 'PUT', `/files/${name}`, '1')).status).toBe(400);
    }
    expect(
      (
        await request(cell, 'PUT', '/files/ok', '1', { 'content-type': 'text/plain\u0000' }).catch(() => ({
          status: 400,
        }))
      ).status,
    ).toBe(400);
    expect((await request(cell, 'PUT', '/files/b', '2')).status).toBe(201);
    expect((await request(cell, 'PUT', '/files/c', '3')).status).toBe(413);
    cell.close();
  });

  it('are refused where none are declared', async () => {
    const cell = await started({ filesBytes: 0, filesCount: 0 });
    const answer = await request(cell, 'PUT', '/files/a', '1');
    expect([answer.status, JSON.parse(answer.text)]).toEqual([403, { code: 'FILES_NOT_DECLARED' }]);
    cell.close();
  });
});

describe('order', () => {
  it.each([
    ['GET', '/bundle'],
    ['POST', '/loaded'],
    ['POST', '/progress'],
    ['POST', '/result'],
    ['PUT', '/files/a'],
  ])('%s %s before dispatch ends the attempt', async (method, path) => {
    const cell = connected();
    // Whole in itself: it is refused for nothing but its time.
    void request(cell, method, path, '{}', { 'glovebox-result': 'output' }).catch(() => undefined);
    await settled();
    expect(cell.seen.violations.map(({ code }) => code)).toEqual(['CHANNEL_ABUSE']);
    cell.close();
  });

  it('PUT /files/a before the bundle is loaded ends the attempt, and stores nothing', async () => {
    const cell = connected();
    await request(cell, 'GET', '/job');
    void request(cell, 'PUT', '/files/a', '1').catch(() => undefined);
    await settled();
    expect(cell.seen.violations.map(({ code }) => code)).toEqual(['CHANNEL_ABUSE']);
    expect(cell.blobs.kept.size).toBe(0);
    cell.close();
  });

  it.each([
    ['GET', '/job'],
    ['GET', '/bundle'],
    ['POST', '/loaded'],
  ])('%s %s a second time ends the attempt', async (method, path) => {
    const cell = await started();
    void request(cell, method, path).catch(() => undefined);
    await settled();
    expect(cell.seen.violations.map(({ code }) => code)).toEqual(['CHANNEL_ABUSE']);
    cell.close();
  });

  it('takes nothing in once the attempt has ended', async () => {
    const cell = await started();
    cell.control.end();
    await expect(request(cell, 'PUT', '/files/late', '1')).rejects.toThrow();
    await expect(request(cell, 'POST', '/progress', '{}')).rejects.toThrow();
    expect(cell.control.files).toEqual([]);
    expect(cell.seen.progress).toEqual([]);
    cell.close();
  });
});

describe('a request that is open', () => {
  const line = (message: string): Buffer =>
    Buffer.from(`${JSON.stringify({ source: 'node', level: 'info', message })}\n`);

  async function goesOn(cell: Cell, between: () => void) {
    const log = cell.open('POST', '/log');
    await log.write(line('before'));
    const file = cell.open('PUT', '/files/a');
    await file.write(Buffer.from('12'));
    await settled();
    between();
    const written = await Promise.allSettled([log.write(line('after')), file.write(Buffer.from('3'))]);
    for (const stream of [log, file]) stream.end();
    const answers = await Promise.allSettled([log.response, file.response]);
    await cell.control.stored();
    return [...written, ...answers].map(({ status }) => status);
  }

  it('is taken to its end while the attempt goes on', async () => {
    const cell = await started();
    expect(await goesOn(cell, () => undefined)).toEqual(Array(4).fill('fulfilled'));
    expect(cell.seen.logs).toEqual(['before', 'after']);
    expect(cell.control.files).toMatchObject([{ name: 'a', sizeBytes: 3 }]);
    cell.close();
  });

  it('is reset when the attempt ends, and no chunk of it is taken in', async () => {
    const cell = await started();
    const outcomes = await goesOn(cell, () => cell.control.end());
    expect(outcomes.slice(2)).toEqual(['rejected', 'rejected']);
    expect(cell.seen.logs).toEqual(['before']);
    expect([cell.control.files, [...cell.blobs.kept]]).toEqual([[], []]);
    expect(cell.seen.violations).toEqual([]);
    cell.close();
  });

  it('is reset also where it is held and nobody reads it', async () => {
    const cell = await started();
    const held = cell.open('GET', '/cancel');
    held.end();
    await settled();
    cell.control.end();
    await expect(held.response).rejects.toMatchObject({ code: 'CHANNEL_RESET' });
    cell.close();
  });
});

it('hands every request that is not for the control plane to the egress of the attempt', async () => {
  const cell = await started();
  for (const url of [
    'https://example.com/',
    'http://control.invalid.example.com/job',
    'http://control.invalid:80/job',
    'http://x@control.invalid/job',
    'http://CONTROL.INVALID/job',
    'https://control.invalid/job',
  ]) {
    expect((await request(cell, 'GET', url)).status).toBe(403);
  }
  expect(cell.seen.egress.map(({ outcome, reason }) => [outcome, reason])).toEqual([
    ['denied', 'HTTP_NOT_DECLARED'],
    ['denied', 'HTTP_NOT_DECLARED'],
    ['denied', 'HTTP_NOT_DECLARED'],
    ['denied', 'URL_REFUSED'],
    ['denied', 'HTTP_NOT_DECLARED'],
    ['denied', 'HTTP_NOT_DECLARED'],
  ]);
  expect((await request(cell, 'GET', '/nothing')).status).toBe(404);
  cell.close();
});

it('takes the path of a request literally, with what follows it', async () => {
  const cell = await started();
  for (const path of ['/cancel?', '/cancel?a=1', '/cancel#b', '/progress/', '/files?', '?', '/'])
    expect((await request(cell, 'GET', `http://control.invalid${path}`)).status).toBe(404);
  for (const path of ['/files/a?b', '/files/a#b']) expect((await request(cell, 'PUT', path, '1')).status).toBe(400);
  expect((await request(cell, 'PUT', '/files/a', '1')).status).toBe(201);
  expect([cell.control.files.length, cell.seen.violations]).toEqual([1, []]);
  cell.close();
});

it('answers a held cancel when the attempt is cancelled, and a later one at once', async () => {
  const cell = await started();
  const held = cell.open('GET', '/cancel');
  held.end();
  await settled();
  cell.control.cancel('by hand');
  expect((await held.response).status).toBe(200);
  expect(JSON.parse((await request(cell, 'GET', '/cancel')).text)).toEqual({ reason: 'by hand', graceMs: 2000 });
  cell.close();
});

it('takes progress within its shape', async () => {
  const cell = await started();
  await request(cell, 'POST', '/progress', '{"fraction":0.5,"message":"half"}');
  expect(cell.seen.progress).toEqual([{ fraction: 0.5, message: 'half' }]);
  void request(cell, 'POST', '/progress', '{"fraction":2}').catch(() => undefined);
  await settled();
  expect(cell.seen.violations.map(({ code }) => code)).toEqual(['CHANNEL_ABUSE']);
  cell.close();
});

it('takes in the progress that came right before the result', async () => {
  const cell = await started();
  const count = 50;
  for (let i = 0; i < count; i++) {
    const report = cell.open('POST', '/progress');
    void report.write(Buffer.from(JSON.stringify({ fraction: i / count }))).catch(() => undefined);
    report.end();
  }
  const result = cell.open('POST', '/result', { 'glovebox-result': 'output' });
  void result.write(Buffer.from('1')).catch(() => undefined);
  result.end();
  await settled();
  expect(cell.seen.progressAtResult).toEqual([count]);
  cell.close();
});
