import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attempt, type BuiltHarness, buildHarness } from './host.ts';
import { type Asked, outside } from './outside.ts';

let harness: BuiltHarness;
beforeAll(() => {
  harness = buildHarness();
});
afterAll(() => harness.remove());

/** Run a handler with this body in a cell with http. @returns what it gives, and what the host was asked for. */
async function run(body: string): Promise<{ output: unknown; asked: Asked[]; mostOpen: number }> {
  const world = outside();
  const got = await attempt(harness, `export default async (ctx) => {${body}\n};`, {
    http: true,
    onEgress: world.onEgress,
  });
  expect(got.outcome).toMatchObject({ kind: 'output' });
  return { output: (got.outcome as { output: unknown }).output, asked: world.asked, mostOpen: world.mostOpen };
}
const post = (body: string, more = ''): string =>
  `return (await fetch('https://api.test/echo', { method: 'POST', body: ${body} ${more} })).json()`;

describe('fetch sends', () => {
  it('a text, with its length and type', async () => {
    const { output } = await run(post(`'grüße'`));
    expect(output).toMatchObject({
      method: 'POST',
      url: 'https://api.test:443/echo',
      body: 'grüße',
      headers: { 'content-length': '7', 'content-type': 'text/plain;charset=UTF-8' },
    });
  });

  it('bytes and a URLSearchParams', async () => {
    expect((await run(post(`new Uint8Array([104, 105])`))).output).toMatchObject({ body: 'hi' });
    expect((await run(post(`new URLSearchParams({ a: '1 2' })`))).output).toMatchObject({ body: 'a=1+2' });
  });

  it('a stream, without a length, in the order in which it comes', async () => {
    const stream = `new ReadableStream({ async start(c) { for (const part of ['a', 'b', 'c']) { c.enqueue(new TextEncoder().encode(part)); await new Promise((r) => setTimeout(r, 5)) } c.close() } })`;
    const { output } = await run(post(stream, `, duplex: 'half'`));
    expect(output).toMatchObject({ body: 'abc' });
    expect((output as Asked).headers).not.toHaveProperty('content-length');
  });

  it('FormData with a file, and a Blob with its type', async () => {
    const form = await run(
      `const form = new FormData(); form.set('field', 'value'); form.set('file', new Blob(['content'], { type: 'text/x' }), 'n.txt'); ${post('form')}`,
    );
    const { body, headers } = form.output as Asked;
    expect(headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
    expect(body).toContain('filename="n.txt"\r\nContent-Type: text/x\r\n\r\ncontent');
    expect((await run(post(`new Blob(['b'], { type: 'text/b' })`))).output).toMatchObject({
      body: 'b',
      headers: { 'content-type': 'text/b' },
    });
  });

  it('5 MB', async () => {
    const { output } = await run(
      `const body = 'x'.repeat(5_000_000); return (await (await fetch('https://api.test/count', { method: 'POST', body })).json()).bodyBytes`,
    );
    expect(output).toBe(5_000_000);
  });

  it('headers, those of one name in one, cookies by semicolons, and none that is about the connection', async () => {
    const { output } = await run(
      `const headers = new Headers([['x-a', '1'], ['x-a', '2'], ['cookie', 'a=1'], ['x-ü'.slice(0, 2) + 'b', 'é']]); return (await fetch('https://api.test/echo', { headers })).json()`,
    );
    const { headers } = output as Asked;
    expect(headers).toMatchObject({ 'x-a': '1, 2', cookie: 'a=1', 'x-b': 'é' });
    expect(Object.keys(headers).filter((name) => /^(host|connection|keep-alive|te|upgrade)$/.test(name))).toEqual([]);
  });

  it('a path and a query as they are written, to the port that is named', async () => {
    const { asked } = await run(`return (await fetch('http://api.test:8080/echo/a%2Fb?q=%20&r=/#hash')).status`);
    expect(asked[0]?.url).toBe('http://api.test:8080/echo/a%2Fb?q=%20&r=/');
  });
});

describe('fetch receives', () => {
  it('a body as a stream, chunk by chunk while it goes on', async () => {
    const { output, asked } = await run(
      `const response = await fetch('https://api.test/endless'); const reader = response.body.getReader(); let text = ''; while (!text.includes('data: 3')) text += new TextDecoder().decode((await reader.read()).value); await reader.cancel(); await new Promise((r) => setTimeout(r, 50)); return [response.headers.get('content-type'), text.slice(0, 9)]`,
    );
    expect(output).toEqual(['text/event-stream', 'data: 0\n\n']);
    expect(asked[0]?.aborted).toBe(true);
  });

  it('5 MB, with and without a length', async () => {
    const { output } = await run(
      `const sizes = []; for (const how of ['', '?length']) { const response = await fetch('https://api.test/bytes/5000000' + how); sizes.push(response.headers.get('content-length'), (await response.arrayBuffer()).byteLength) } return sizes`,
    );
    expect(output).toEqual([null, 5_000_000, '5000000', 5_000_000]);
  });

  it('several cookies as several', async () => {
    expect((await run(`return (await fetch('https://api.test/cookies')).headers.getSetCookie()`)).output).toEqual([
      'a=1; Path=/',
      'b=2; Expires=Wed, 21 Oct 2037 07:28:00 GMT',
    ]);
  });

  it('204, 304 and answers to HEAD, which have no body, on one connection after another', async () => {
    const { output } = await run(
      `const said = []; for (const [method, path] of [['GET', 'status/204'], ['HEAD', 'bytes/10?length'], ['GET', 'status/304'], ['HEAD', 'headers?x-b=1'], ['GET', 'status/200?end']]) { const r = await fetch('https://api.test/' + path, { method }); said.push([r.status, await r.text(), r.headers.get('content-length')]) } return said`,
    );
    expect(output).toEqual([
      [204, '', null],
      [200, '', '10'],
      [304, '', null],
      [200, '', null],
      [200, 'end', null],
    ]);
  });

  it('a status with its words, and errors of the origin as answers', async () => {
    expect(
      (
        await run(
          `const r = await fetch('https://api.test/status/404?gone'); return [r.ok, r.status, r.statusText, await r.text()]`,
        )
      ).output,
    ).toEqual([false, 404, 'Not Found', 'gone']);
  });

  it('an answer twice, by clone', async () => {
    expect(
      (
        await run(
          `const r = await fetch('https://api.test/status/200?twice'); const c = r.clone(); return [await r.text(), await c.text()]`,
        )
      ).output,
    ).toEqual(['twice', 'twice']);
  });

  it('data: URLs without asking the host', async () => {
    const { output, asked } = await run(`return (await fetch('data:text/plain,hi')).text()`);
    expect([output, asked]).toEqual(['hi', []]);
  });
});

describe('fetch follows', () => {
  it('redirects, each of which the host is asked for by itself', async () => {
    const { output, asked } = await run(
      `const r = await fetch('https://api.test/redirect/302?/echo'); return [r.redirected, r.url, r.status]`,
    );
    expect(output).toEqual([true, 'https://api.test/echo', 200]);
    expect(asked.map(({ url }) => url)).toEqual([
      'https://api.test:443/redirect/302?/echo',
      'https://api.test:443/echo',
    ]);
  });

  it('307 with its body, and 303 as GET without one', async () => {
    const to = (status: number): string =>
      `await (await fetch('https://api.test/redirect/${status}?/echo', { method: 'POST', body: 'kept' })).json()`;
    expect((await run(`return [${to(307)}, ${to(303)}]`)).output).toMatchObject([
      { method: 'POST', body: 'kept' },
      { method: 'GET', body: '' },
    ]);
  });

  it('none where it is told not to', async () => {
    const { output, asked } = await run(
      `const manual = await fetch('https://api.test/redirect/302?/echo', { redirect: 'manual' }); const error = await fetch('https://api.test/redirect/302?/echo', { redirect: 'error' }).catch((e) => e.message); return [manual.status, manual.headers.get('location'), error]`,
    );
    expect(output).toEqual([302, '/echo', 'fetch failed']);
    expect(asked).toHaveLength(2);
  });
});

describe('fetch gives up', () => {
  it('before it is asked for, while it waits, and while the body comes', async () => {
    const { output, asked } = await run(`
      const said = [];
      const before = AbortSignal.abort(new Error('before')); await fetch('https://api.test/echo', { signal: before }).catch((e) => said.push(e.message));
      await fetch('https://api.test/silent', { signal: AbortSignal.timeout(30) }).catch((e) => said.push(e.name));
      const c = new AbortController(); const r = await fetch('https://api.test/endless', { signal: c.signal }); setTimeout(() => c.abort(), 30); await r.text().catch((e) => said.push(e.name));
      await new Promise((r) => setTimeout(r, 50)); return said`);
    expect(output).toEqual(['before', 'TimeoutError', 'AbortError']);
    expect(asked.map(({ url, aborted }) => [url, aborted])).toEqual([
      ['https://api.test:443/silent', true],
      ['https://api.test:443/endless', true],
    ]);
  });
});

describe('many at once', () => {
  it('are all answered, 32 at a time', async () => {
    const { output, mostOpen, asked } = await run(
      `const all = await Promise.all(Array.from({ length: 300 }, async (_, i) => (await (await fetch('https://api.test/echo?' + i)).json()).url)); return new Set(all).size`,
    );
    expect(output).toBe(300);
    expect(asked).toHaveLength(300);
    expect(mostOpen).toBeGreaterThan(8);
    expect(mostOpen).toBeLessThanOrEqual(32);
  });

  it('that are given up leave room for others, for files, reports and the log', async () => {
    const world = outside();
    const body = `
      for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 60 }, () => fetch('https://api.test/silent', { signal: AbortSignal.timeout(20) }).catch(() => 0)));
      const waiting = Array.from({ length: 80 }, () => fetch('https://api.test/silent').catch(() => 0));
      await new Promise((r) => setTimeout(r, 50));
      ctx.log.info('still'); ctx.progress(0.5); await ctx.files.write('a.txt', 'text');
      return 'done'`;
    const got = await attempt(harness, `export default async (ctx) => {${body}\n};`, {
      http: true,
      onEgress: world.onEgress,
    });
    expect(got.outcome).toMatchObject({ output: 'done' });
    expect(got.logs).toMatchObject([{ message: 'still' }]);
    expect(got.progress).toEqual([{ fraction: 0.5 }]);
    expect(got.files).toHaveLength(1);
    expect(world.asked.length).toBeGreaterThanOrEqual(192);
  });

  it('are no violation of the limit of requests in a second', async () => {
    const world = outside();
    const body = `const began = performance.now(); await Promise.all(Array.from({ length: 250 }, async () => (await fetch('https://api.test/status/200?x')).text())); return performance.now() - began`;
    const got = await attempt(harness, `export default async () => {${body}\n};`, {
      http: true,
      onEgress: world.onEgress,
      channel: { maxOpensPerSecond: 100 },
    });
    expect(got.outcome).toMatchObject({ kind: 'output' });
    expect(world.asked).toHaveLength(250);
    // Else the limit was never met.
    expect((got.outcome as { output: number }).output).toBeGreaterThan(1000);
  });
});
