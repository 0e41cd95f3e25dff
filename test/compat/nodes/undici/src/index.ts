import { Writable } from 'node:stream';
import { defineNode } from '@glovebox/sdk';
import { Agent, Client, EventSource, FormData, fetch, H2CClient, interceptors, Pool, request, stream } from 'undici';

const base = 'https://api.compat.test';

export default defineNode<{ denied?: boolean }, unknown, unknown>(async (ctx) => {
  if (ctx.input.denied) return (await request('https://elsewhere.test/')).body.json();
  const failure = (error: Error & { code?: string }): unknown => [error.name, error.code];
  const form = new FormData();
  form.set('file', new Blob(['x'.repeat(2000)]), 'a.txt');
  const pool = new Pool(base, { connections: 2 });
  const client = new Client(base, { allowH2: true, pipelining: 3 });
  const retrying = new Agent().compose(
    interceptors.retry({ minTimeout: 10 }),
    interceptors.redirect({ maxRedirections: 2 }),
  );
  const json = async (answer: ReturnType<typeof request>): Promise<{ [field: string]: unknown }> =>
    (await answer).body.json() as Promise<{ [field: string]: unknown }>;
  let streamed = 0;
  const counting = new Writable({
    write: (chunk, _encoding, done) => {
      streamed += chunk.length;
      done();
    },
  });
  await stream(`${base}/bytes?n=300000`, { method: 'GET' }, () => counting);
  const events: string[] = [];
  const source = new EventSource(`${base}/events`);
  await new Promise<void>((resolve, reject) => {
    source.addEventListener('message', (event) => events.push(event.data));
    source.addEventListener('named', (event) => {
      events.push((event as MessageEvent).data);
      resolve();
    });
    source.addEventListener('error', reject);
  });
  source.close();
  return {
    get: await json(request(`${base}/hello`, { query: { name: 'ä b' } })),
    post: await json(
      request(`${base}/echo`, { method: 'POST', body: JSON.stringify({ a: 1 }), headers: { 'x-custom': 'yes' } }),
    ),
    fetch: await (await fetch(`${base}/moved`)).json(),
    form: ((await (await fetch(`${base}/echo`, { method: 'POST', body: form })).json()) as { type: string }).type,
    gzip: await (await fetch(`${base}/gzip`)).text(),
    pool: await Promise.all(
      ['a', 'b', 'c', 'd'].map(
        async (name) => (await json(pool.request({ method: 'GET', path: `/hello?name=${name}` }))).hello,
      ),
    ),
    pipelined: await Promise.all(
      ['a', 'b', 'c'].map(
        async (name) => (await json(client.request({ method: 'GET', path: `/hello?name=${name}` }))).hello,
      ),
    ),
    givenToFetch: await (await globalThis.fetch(`${base}/hello`, { dispatcher: pool } as RequestInit)).json(),
    retried: await json(request(`${base}/flaky?key=undici`, { dispatcher: retrying })),
    redirected: await json(request(`${base}/moved`, { dispatcher: retrying })),
    streamed,
    events,
    timeout: await request(`${base}/silent`, { headersTimeout: 100 }).catch(failure),
    abort: await request(`${base}/silent`, { signal: AbortSignal.timeout(50) }).catch(failure),
    http2Alone: await new H2CClient('http://api.compat.test').request({ method: 'GET', path: '/hello' }).catch(failure),
    denied: await request('https://elsewhere.test/').catch((error) => [error.name, error.code, error.reason]),
  };
});
