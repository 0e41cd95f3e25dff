import { defineNode } from '@glovebox/sdk';
import ky, { isHTTPError } from 'ky';

const client = ky.create({ baseUrl: 'https://api.compat.test' });

export default defineNode<{ denied?: boolean }, unknown, unknown>(async (ctx) => {
  if (ctx.input.denied) return ky('https://elsewhere.test/').json();
  const failure = (error: Error): unknown => [error.name, isHTTPError(error) ? error.response.status : null];
  const form = new FormData();
  form.set('file', new Blob(['x'.repeat(2000)]), 'a.txt');
  let most = 0;
  await client('/bytes?n=300000', {
    onDownloadProgress: ({ percent }) => {
      most = Math.max(most, percent);
    },
  }).arrayBuffer();
  let uploaded = 0;
  await client.post('/echo', {
    body: 'x'.repeat(200_000),
    onUploadProgress: ({ transferredBytes }) => {
      uploaded = transferredBytes;
    },
  });
  return {
    get: await client('/hello', { searchParams: { name: 'ä b' } }).json(),
    post: await client.post('/echo', { json: { a: 1 }, headers: { 'x-custom': 'yes' } }).json(),
    form: (await client.post('/echo', { body: form }).json<{ type: string }>()).type,
    redirect: await client('/moved').json(),
    gzip: await client('/gzip').text(),
    retried: await client('/flaky?key=ky').json(),
    most,
    uploaded,
    hook: await client('/echo', {
      hooks: { beforeRequest: [({ request }) => request.headers.set('x-custom', 'hooked')] },
    })
      .json<{ custom: string }>()
      .then(({ custom }) => custom),
    missing: await client('/missing').catch(failure),
    timeout: await client('/silent', { timeout: 100, retry: 0 }).catch(failure),
    abort: await client('/silent', { signal: AbortSignal.timeout(50) }).catch(failure),
    denied: await ky('https://elsewhere.test/', { retry: 0 }).catch((error) => [
      error.name,
      error.cause?.cause?.code,
      error.cause?.cause?.reason,
    ]),
  };
});
