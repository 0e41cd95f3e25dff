import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { attempt, type BuiltHarness, buildHarness } from './host.ts';
import { type Asked, outside } from './outside.ts';

let harness: BuiltHarness;
beforeAll(() => {
  harness = buildHarness();
});
afterAll(() => harness.remove());

async function run(body: string): Promise<{ outcome: unknown; asked: Asked[] }> {
  const world = outside();
  const got = await attempt(harness, `export default async (ctx) => {${body}\n};`, { onEgress: world.onEgress });
  return { outcome: got.outcome, asked: world.asked };
}

describe('a node that declares no http', () => {
  it('has none of the modules of the network loaded', async () => {
    const loaded = `return process.moduleLoadList.filter((name) => /^NativeModule (net|tls|http|https|_http.*|_tls.*|internal\\/deps\\/undici.*)$/.test(name))`;
    expect((await run(loaded)).outcome).toMatchObject({ output: [] });
    // Where it does declare it, they are there.
    const got = await attempt(harness, `export default async () => {${loaded}\n};`, { http: true });
    expect(got.outcome).toMatchObject({ output: expect.arrayContaining(['NativeModule net', 'NativeModule tls']) });
  });

  it('puts the head of what it fetches to the host, and fails with what that says', async () => {
    const { outcome, asked } = await run(`
      const said = []; const told = (e) => said.push(e.name, (e.cause ?? e).code, (e.cause ?? e).reason);
      await fetch('https://api.test/denied?q=1', { method: 'post', body: 'secret', headers: { authorization: 'x' } }).catch(told);
      await fetch(new URL('http://api.test:81/denied')).catch(told); await fetch(new Request('https://api.test/denied', { method: 'PUT', body: 'x' })).catch(told);
      await ctx.fetch('https://api.test/denied').catch(told);
      await fetch('http://control.invalid/job').catch(() => 0); return said`);
    const wrapped = ['TypeError', 'EGRESS_DENIED', 'PATH_NOT_DECLARED'];
    expect(outcome).toMatchObject({ output: [...wrapped, ...wrapped, ...wrapped, 'NodeError', ...wrapped.slice(1)] });
    expect(asked.map(({ method, url, headers, bodyBytes }) => [method, url, headers, bodyBytes])).toEqual([
      ['POST', 'https://api.test:443/denied?q=1', {}, 0],
      ['GET', 'http://api.test:81/denied', {}, 0],
      ['PUT', 'https://api.test:443/denied', {}, 0],
      ['GET', 'https://api.test:443/denied', {}, 0],
      ['GET', 'http://control.invalid:80/job', {}, 0],
    ]);
  });

  it('gets nothing of an answer that should not have been', async () => {
    expect((await run(`await fetch('https://api.test/status/200?secret')`)).outcome).toMatchObject({
      error: { code: 'EGRESS_DENIED', details: { reason: 'HTTP_NOT_DECLARED' } },
    });
  });

  it('has fetch for what needs no network', async () => {
    const { outcome, asked } = await run(
      `return [await (await fetch('data:,hi')).text(), await fetch('no url').catch((e) => e.name)]`,
    );
    expect(outcome).toMatchObject({ output: ['hi', 'TypeError'] });
    expect(asked).toEqual([]);
  });

  it.each([
    [
      'a library',
      `const https = await import('node:https'); https.get('https://api.test/'); await new Promise((r) => setTimeout(r, 1000))`,
    ],
    ['a name', `await (await import('node:dns/promises')).lookup('api.test')`],
    ['a name server', `await (await import('node:dns/promises')).resolve4('api.test')`],
    ['a server', `(await import('node:net')).createServer().listen(0); await new Promise((r) => setTimeout(r, 1000))`],
  ])('that asks Node.js for %s is told what there is instead', async (_what, body) => {
    expect((await run(body)).outcome).toMatchObject({
      error: { code: 'CELL_HTTP_ONLY', message: expect.stringContaining('capabilities.http of node.json') },
    });
    const file = `(await import('node:fs')).readFileSync('/etc/passwd')`;
    expect((await run(file)).outcome).toMatchObject({ error: { code: 'NODE_FAILED' } });
  });

  it('connects to nothing by any other way', async () => {
    const { outcome, asked } = await run(`
      const net = await import('node:net'); const tls = await import('node:tls'); const http = await import('node:http'); const codes = [];
      const ways = [() => net.connect(80, '127.0.0.1'), () => tls.connect(443, '127.0.0.1'), () => http.get('http://127.0.0.1/'), () => new net.Socket().connect(80, '127.0.0.1')];
      for (const way of ways) await new Promise((r) => { try { way().on('error', (e) => { codes.push(e.code); r() }) } catch (e) { codes.push(e.code); r() } });
      return codes`);
    expect(outcome).toMatchObject({ output: Array(4).fill('ERR_ACCESS_DENIED') });
    expect(asked).toEqual([]);
  });
});
