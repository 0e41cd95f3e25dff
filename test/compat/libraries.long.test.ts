import { describe, expect, it } from 'vitest';
import { useLibraries } from './use-libraries.ts';

/**
 * HTTP clients and SDKs of npm as they are, each in a node of its own under nodes/: what their users do with them works in a cell, and
 * what the manifest does not declare is refused by an error that says so, however the library wraps it.
 */
const run = useLibraries();

const world = { hello: 'world', by: 'https' };
const moved = { hello: 'moved', by: 'https' };
const multipart = 'multipart/form-data';
const undeclaredHost = ['EGRESS_DENIED', 'HOST_NOT_DECLARED'];

interface Refusal {
  reason?: string;
  /** How often the library asks until it believes it. */
  asks?: number;
  /** What is left of the error when the library has wrapped it. */
  details?: 'whole' | 'code alone';
  /** Requests that it makes first, and that are allowed. */
  before?: number;
}

/** Runs it once to its end, and once into what is not declared, of which nothing reaches an origin. */
async function tryLibrary(name: string, refusal: Refusal = {}) {
  const { reason = 'HOST_NOT_DECLARED', asks = 1, details = 'whole', before = 0 } = refusal;
  const whole = await run(name);
  expect(whole, JSON.stringify(whole.error)).toMatchObject({ code: 0, error: null });
  const refused = await run(name, { denied: true });
  expect(refused).toMatchObject({ code: 1, output: null, error: { code: 'EGRESS_DENIED' }, arrived: before });
  expect(refused.error?.message).toContain(reason);
  expect(refused.records.filter(({ outcome }) => outcome === 'denied').map(({ reason }) => reason)).toEqual(
    Array(asks).fill(reason),
  );
  if (details === 'whole')
    expect(refused.error?.details).toMatchObject({
      reason,
      patch: { rules: [expect.objectContaining({ scheme: 'https' })] },
    });
  return whole;
}

describe('unmodified in a cell,', () => {
  it('axios asks, posts, streams, follows, gives up, and says what was denied', async () => {
    const { output, records } = await tryLibrary('axios');
    expect(output).toEqual({
      get: { hello: 'ä b', by: 'https' },
      post: {
        method: 'POST',
        type: 'application/json',
        bytes: 7,
        text: '{"a":1}',
        agent: 'axios',
        custom: 'yes',
        cookie: null,
      },
      form: multipart,
      urlEncoded: 'a=1',
      put: 100_000,
      own: ['a', 'b', 'c'],
      redirect: moved,
      redirectedPost: 'kept',
      none: ['AxiosError', 'ERR_BAD_RESPONSE', 302],
      gzip: 'unpacked',
      streamed: 300_000,
      fetchAdapter: world,
      plainHttp: { ...world, by: 'http' },
      missing: ['AxiosError', 'ERR_BAD_REQUEST', 404],
      timeout: ['AxiosError', 'ECONNABORTED', null],
      abort: ['CanceledError', 'ERR_CANCELED', null],
      tooLarge: ['AxiosError', 'ERR_BAD_RESPONSE', null],
      http2: ['NodeError', 'CELL_HTTP_ONLY', null],
      denied: ['NodeError', ...undeclaredHost],
    });
    // Origins are spoken to as they like it, whatever the library speaks.
    expect(new Set(records.map(({ protocol }) => protocol))).toEqual(new Set(['h2', 'h1', null]));
  });

  it('got asks, posts, streams, pages, retries, gives up, and says what was denied', async () => {
    const { output } = await tryLibrary('got');
    expect(output).toEqual({
      get: { hello: 'ä b', by: 'https' },
      post: {
        method: 'POST',
        type: 'application/json',
        bytes: 7,
        text: '{"a":1}',
        agent: 'got (https://github.com/sindresorhus/got)',
        custom: 'yes',
        cookie: null,
      },
      form: multipart,
      urlEncoded: 'a=1',
      streamedDown: 300_000,
      streamedUp: 'streamed up',
      redirect: ['https://api.compat.test/hello?name=moved', 1, moved],
      gzip: 'unpacked',
      http2: ['1.1', world],
      pages: [10, 11, 20, 21, 30, 31],
      retried: { nth: 2 },
      missing: ['HTTPError', 'ERR_NON_2XX_3XX_RESPONSE', 404],
      timeout: ['TimeoutError', 'ETIMEDOUT', null],
      abort: ['TimeoutError', 'ETIMEDOUT', null],
      denied: ['RequestError', ...undeclaredHost],
    });
  });

  it('node-fetch asks, posts, streams, follows, gives up, and keeps the code of what was denied', async () => {
    const { output } = await tryLibrary('node-fetch', { details: 'code alone' });
    expect(output).toEqual({
      get: world,
      post: {
        method: 'POST',
        type: 'text/plain',
        bytes: 7,
        text: '{"a":1}',
        agent: 'node-fetch',
        custom: 'yes',
        cookie: null,
      },
      form: multipart,
      streamedUp: 'streamed up',
      streamed: 300_000,
      own: ['world', 'world'],
      redirect: [true, 'https://api.compat.test/hello?name=moved', moved],
      manual: '/hello?name=moved',
      gzip: 'unpacked',
      cookies: ['a=1; Path=/', 'b=2; Path=/'],
      missing: [false, 404, 'Not Found'],
      abort: ['AbortError', 'aborted'],
      denied: ['FetchError', ...undeclaredHost],
    });
  });

  it('undici asks by pools, clients and interceptors of its own, also in the built-in fetch, and says what was denied', async () => {
    const { output } = await tryLibrary('undici');
    expect(output).toEqual({
      get: { hello: 'ä b', by: 'https' },
      post: { method: 'POST', type: '', bytes: 7, text: '{"a":1}', agent: null, custom: 'yes', cookie: null },
      fetch: moved,
      form: multipart,
      gzip: 'unpacked',
      pool: ['a', 'b', 'c', 'd'],
      pipelined: ['a', 'b', 'c'],
      givenToFetch: world,
      retried: { nth: 2 },
      redirected: moved,
      streamed: 300_000,
      events: ['one', 'two'],
      timeout: ['HeadersTimeoutError', 'UND_ERR_HEADERS_TIMEOUT'],
      abort: ['TimeoutError', 23],
      http2Alone: ['NodeError', 'CELL_HTTP_ONLY'],
      denied: ['NodeError', ...undeclaredHost],
    });
  });

  it('ky asks, posts, tells of progress, retries, gives up, and says what was denied', async () => {
    const { output } = await tryLibrary('ky', { asks: 3 });
    expect(output).toEqual({
      get: { hello: 'ä b', by: 'https' },
      post: {
        method: 'POST',
        type: 'application/json',
        bytes: 7,
        text: '{"a":1}',
        agent: 'node',
        custom: 'yes',
        cookie: null,
      },
      form: multipart,
      redirect: moved,
      gzip: 'unpacked',
      retried: { nth: 2 },
      most: 1,
      uploaded: 200_000,
      hook: 'hooked',
      missing: ['HTTPError', 404],
      timeout: ['TimeoutError', null],
      abort: ['TimeoutError', null],
      denied: ['NetworkError', ...undeclaredHost],
    });
  });

  it('@octokit/rest reads, creates, pages by Link, and says which method was denied', async () => {
    const { output } = await tryLibrary('octokit-rest', { reason: 'METHOD_NOT_DECLARED' });
    expect(output).toEqual({
      get: { full_name: 'acme/widgets', stargazers_count: 7 },
      created: { number: 42, title: 'ä title', labels: [{ name: 'bug' }] },
      numbers: [1, 2, 3, 4, 5, 6],
      all: 6,
      route: 200,
      missing: ['HttpError', 404],
      denied: ['HttpError', 'EGRESS_DENIED', 'METHOD_NOT_DECLARED'],
    });
  });

  it('stripe creates, pages, retries under one key, has its errors by type, and says what was denied', async () => {
    const { output } = await tryLibrary('stripe', { asks: 3 });
    expect(output).toEqual({
      created: { id: 'cus_1', object: 'customer', email: 'a@b.test', plan: 'large & small' },
      ids: ['cus_1', 'cus_2', 'cus_3', 'cus_4', 'cus_5', 'cus_6'],
      byFetch: 2,
      createdByFetch: 'f@b.test',
      retried: { id: 're_1', object: 'refund', sameKey: true },
      declined: ['StripeCardError', 'card_declined'],
      wrongKey: ['StripeAuthenticationError', null],
      denied: ['StripeConnectionError', ...undeclaredHost],
      deniedByFetch: ['StripeConnectionError', ...undeclaredHost],
    });
  });

  it('openai lists, chats in one and as a stream, uploads, waits at a limit, and says what was denied', async () => {
    const { output } = await tryLibrary('openai', { asks: 3 });
    expect(output).toMatchObject({
      models: ['small', 'large'],
      chat: 'to me',
      streamed: 'one two three',
      stopped: true,
      afterLimit: [0.5, -2],
      file: { id: 'file_1', filename: 'in.jsonl', purpose: 'batch' },
      missing: [404, 'model_not_found'],
      denied: ['APIConnectionError', ...undeclaredHost],
    });
  });

  it('@aws-sdk/client-s3 puts, gets and lists by requests whose signatures hold at the origin, and says what was denied', async () => {
    const { output } = await tryLibrary('aws-sdk-client-s3');
    expect(output).toEqual({
      puts: ['"9"', '"8"', '"11"', '"3145728"'],
      got: ['some text', 'odd name', 'streamed up', 3_145_728],
      range: 'text',
      head: 3_145_728,
      keys: ['large.bin', 'stream.txt', 'text.txt', 'ä/b c+d.txt'],
      missing: 'NoSuchKey',
      wrongSecret: 'SignatureDoesNotMatch',
      denied: ['NodeError', ...undeclaredHost],
    });
  });

  it('google-auth-library refreshes, signs for a service account, finds no other identity, and keeps the code of what was denied', async () => {
    const { output, records } = await tryLibrary('google-auth-library', { details: 'code alone', before: 1 });
    const bucket = { items: [{ id: 'p-1' }] };
    expect(output).toEqual({
      refreshed: { ...bucket, token: 'by-refresh' },
      token: 'by-refresh',
      jwt: ['by-assertion', { ...bucket, token: 'by-assertion' }],
      auth: { ...bucket, token: 'by-assertion' },
      revoked: ['Error', 'invalid_grant'],
      missing: 404,
      ambient: 'Could not load the default credentials. ',
      denied: ['EGRESS_DENIED', 'EGRESS_DENIED', 'HOST_NOT_DECLARED'],
    });
    // It asks the metadata service of a cloud for whom it runs as, by name and by address.
    expect(records.filter(({ outcome }) => outcome === 'denied').map(({ reason }) => reason)).toContain(
      'ADDRESS_NEVER_ALLOWED',
    );
  });

  it('ws and the built-in WebSocket speak both ways, ws closes with a code, cannot listen, and says what was denied', async () => {
    const { output } = await tryLibrary('ws');
    expect(output).toEqual({
      text: 'ä text',
      binary: 200_000,
      protocol: 'chat',
      pong: 'p',
      close: [4000, 'enough'],
      stream: 'through a stream',
      builtIn: 'built in',
      server: 'ERR_ACCESS_DENIED',
      denied: undeclaredHost,
    });
  });
});
