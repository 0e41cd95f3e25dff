import { text } from 'node:stream/consumers';
import { defineNode } from '@glovebox/sdk';
import got, { type RequestError } from 'got';

const client = got.extend({ prefixUrl: 'https://api.compat.test' });

export default defineNode<{ denied?: boolean }, unknown, unknown>(async (ctx) => {
  if (ctx.input.denied) return got('https://elsewhere.test/').json();
  const failure = (error: RequestError): unknown => [error.name, error.code, error.response?.statusCode ?? null];
  const form = new FormData();
  form.set('file', new Blob(['x'.repeat(2000)]), 'a.txt');
  const moved = await client('moved');
  const up = client.stream.post('echo');
  up.end('streamed up');
  return {
    get: await client('hello', { searchParams: { name: 'ä b' } }).json(),
    post: await client.post('echo', { json: { a: 1 }, headers: { 'x-custom': 'yes' } }).json(),
    form: (await client.post('echo', { body: form }).json<{ type: string }>()).type,
    urlEncoded: (await client.post('echo', { form: { a: 1 } }).json<{ text: string }>()).text,
    streamedDown: (await text(client.stream('bytes?n=300000'))).length,
    streamedUp: JSON.parse(await text(up)).text,
    redirect: [moved.url, moved.redirectUrls.length, JSON.parse(moved.body)],
    gzip: await client('gzip').text(),
    http2: [(await client('hello', { http2: true })).httpVersion, await client('hello', { http2: true }).json()],
    pages: await client.paginate.all<number>('items'),
    retried: await client('flaky?key=got', { retry: { limit: 1 } }).json(),
    missing: await client('missing').catch(failure),
    timeout: await client('silent', { timeout: { request: 100 }, retry: { limit: 0 } }).catch(failure),
    abort: await client('silent', { signal: AbortSignal.timeout(50) }).catch(failure),
    denied: await got('https://elsewhere.test/').catch((error) => [error.name, error.code, error.cause?.reason]),
  };
});
