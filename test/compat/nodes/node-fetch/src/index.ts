import { Agent } from 'node:https';
import { Readable } from 'node:stream';
import { defineNode } from '@glovebox/sdk';
import fetch, { Blob, type FetchError, FormData } from 'node-fetch';

const base = 'https://api.compat.test';
const json = async (...args: Parameters<typeof fetch>): Promise<{ [field: string]: unknown }> =>
  (await fetch(...args)).json() as Promise<{ [field: string]: unknown }>;

export default defineNode<{ denied?: boolean }, unknown, unknown>(async (ctx) => {
  if (ctx.input.denied) return json('https://elsewhere.test/');
  const failure = (error: FetchError): unknown => [error.name, error.type];
  const form = new FormData();
  form.set('file', new Blob(['x'.repeat(2000)]), 'a.txt');
  const agent = new Agent({ keepAlive: true });
  let streamed = 0;
  const down = await fetch(`${base}/bytes?n=300000`);
  for await (const chunk of down.body ?? []) streamed += chunk.length;
  const moved = await fetch(`${base}/moved`);
  const missing = await fetch(`${base}/missing`);
  return {
    get: await json(`${base}/hello`),
    post: await json(`${base}/echo`, {
      method: 'POST',
      body: JSON.stringify({ a: 1 }),
      headers: { 'X-Custom': 'yes' },
    }),
    form: (await json(`${base}/echo`, { method: 'POST', body: form })).type,
    streamedUp: (await json(`${base}/echo`, { method: 'POST', body: Readable.from(['streamed ', 'up']) })).text,
    streamed,
    own: [(await json(`${base}/hello`, { agent })).hello, (await json(`${base}/hello`, { agent })).hello],
    redirect: [moved.redirected, moved.url, await moved.json()],
    manual: (await fetch(`${base}/moved`, { redirect: 'manual' })).headers.get('location'),
    gzip: await (await fetch(`${base}/gzip`)).text(),
    cookies: (await fetch(`${base}/cookies`)).headers.raw()['set-cookie'],
    missing: [missing.ok, missing.status, missing.statusText],
    abort: await fetch(`${base}/silent`, { signal: AbortSignal.timeout(50) }).catch(failure),
    denied: await fetch('https://elsewhere.test/').catch((error) => [
      error.name,
      error.code,
      /\((\w+)\)/.exec(error.message)?.[1],
    ]),
  };
});
