import { Agent } from 'node:https';
import { defineNode } from '@glovebox/sdk';
import axios, { type AxiosError } from 'axios';

const client = axios.create({ baseURL: 'https://api.compat.test' });

export default defineNode<{ denied?: boolean }, unknown, unknown>(async (ctx) => {
  if (ctx.input.denied) return (await axios.get('https://elsewhere.test/')).data;
  const failure = (error: AxiosError): unknown => [error.name, error.code, error.response?.status ?? null];
  const form = new FormData();
  form.set('file', new Blob(['x'.repeat(2000)]), 'a.txt');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const stream = await client.get('/bytes?n=300000', { responseType: 'stream' });
  let streamed = 0;
  for await (const chunk of stream.data) streamed += chunk.length;
  const { data: echoed } = await client.post('/echo', { a: 1 }, { headers: { 'X-Custom': 'yes' } });
  return {
    get: (await client.get('/hello', { params: { name: 'ä b' } })).data,
    post: { ...echoed, agent: String(echoed.agent).split('/')[0] },
    form: (await client.post('/echo', form)).data.type,
    urlEncoded: (await client.post('/echo', new URLSearchParams({ a: '1' }))).data.text,
    put: (await client.put('/echo', Buffer.alloc(100_000))).data.bytes,
    own: await Promise.all(
      ['a', 'b', 'c'].map(
        async (name) => (await client.get('/hello', { params: { name }, httpsAgent: agent })).data.hello,
      ),
    ),
    redirect: (await client.get('/moved')).data,
    redirectedPost: (await client.post('/moved-as-it-is', 'kept')).data.text,
    none: await client.get('/moved', { maxRedirects: 0 }).catch(failure),
    gzip: (await client.get('/gzip')).data,
    streamed,
    fetchAdapter: (await client.get('/hello', { adapter: 'fetch' })).data,
    plainHttp: (await axios.get('http://api.compat.test/hello')).data,
    missing: await client.get('/missing').catch(failure),
    timeout: await client.get('/silent', { timeout: 100 }).catch(failure),
    abort: await client.get('/silent', { signal: AbortSignal.timeout(50) }).catch(failure),
    tooLarge: await client.get('/bytes?n=5000', { maxContentLength: 1000 }).catch(failure),
    http2: await client.get('/hello', { httpVersion: 2 }).catch(failure),
    denied: await axios.get('https://elsewhere.test/').catch((error) => [error.name, error.code, error.cause?.reason]),
  };
});
