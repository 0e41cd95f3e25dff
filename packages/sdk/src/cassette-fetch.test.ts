import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { cassetteFetch } from './cassette-fetch.ts';
import { defineNode, NodeError } from './index.ts';
import { runNode } from './testing.ts';
import type { CassetteEntry, TestRequest } from './testing-api.ts';

const get = (url: string, response: CassetteEntry['response']): CassetteEntry => ({
  request: { method: 'GET', url },
  response,
});
const open = (...entries: CassetteEntry[]) => {
  const requests: TestRequest[] = [];
  return { fetch: cassetteFetch({ schema: 'glovebox.cassette/1', entries }, requests), requests };
};

describe('fetch from a cassette', () => {
  it('gives status, headers and body, text or bytes', async () => {
    const { fetch, requests } = open(
      get('https://a.test/json', {
        status: 201,
        headers: { 'content-type': 'application/json' },
        body: { text: '{"n":1}' },
      }),
      get('https://a.test/bytes', { status: 200, body: { base64: '/wA=' } }),
      get('https://a.test/none', { status: 204 }),
    );
    const json = await fetch('https://a.test/json#part');
    expect([json.status, json.url, json.headers.get('content-type'), await json.json()]).toEqual([
      201,
      'https://a.test/json',
      'application/json',
      { n: 1 },
    ]);
    expect([...new Uint8Array(await (await fetch('https://a.test/bytes')).arrayBuffer())]).toEqual([255, 0]);
    expect((await fetch(new URL('https://a.test/none'))).body).toBeNull();
    expect(requests.map(({ url, status }) => `${url} ${status}`)).toEqual([
      'https://a.test/json 201',
      'https://a.test/bytes 200',
      'https://a.test/none 204',
    ]);
  });

  it('gives each cookie by itself, and leaves out what was not recorded', async () => {
    const headers = { 'set-cookie': ['a=1', 'b=2'], 'x-auth-token': '<not recorded>', etag: '"x"' };
    const { fetch } = open(get('https://a.test/', { status: 200, headers }));
    const response = await fetch('https://a.test/');
    expect(response.headers.getSetCookie()).toEqual(['a=1', 'b=2']);
    expect([response.headers.has('x-auth-token'), response.headers.get('etag')]).toEqual([false, '"x"']);
  });

  it('rejects what is not there with CASSETTE_MISS and the nearest that is', async () => {
    const { fetch } = open(get('https://a.test/?page=1', { status: 200 }));
    const error = await fetch('https://a.test/?page=2').catch((thrown: unknown) => thrown);
    expect(NodeError.is(error, 'CASSETTE_MISS') && error.details).toEqual({
      reason: 'CASSETTE_MISS',
      method: 'GET',
      url: 'https://a.test/?page=2',
      nearest: { entry: 0, method: 'GET', url: 'https://a.test/?page=1', differs: ['query'] },
    });
  });

  it('finds a form by its parts, whatever boundary it got', async () => {
    const form = (value: string) => {
      const data = new FormData();
      data.set('a', value);
      return new Request('https://a.test/', { method: 'POST', body: data });
    };
    const recorded = form('x');
    const headers = { 'content-type': recorded.headers.get('content-type') as string };
    const entry: CassetteEntry = {
      request: { method: 'POST', url: 'https://a.test/', headers, body: { text: await recorded.text() } },
      response: { status: 200 },
    };
    expect((await open(entry).fetch(form('x'))).status).toBe(200);
    await expect(open(entry).fetch(form('y'))).rejects.toMatchObject({ code: 'CASSETTE_MISS' });
  });

  it('follows redirects through the cassette, as it is asked to', async () => {
    const moved = (status: number): CassetteEntry => ({
      request: { method: 'POST', url: 'https://a.test/old', body: { text: 'x' } },
      response: { status, headers: { location: '/new' } },
    });
    const kept: CassetteEntry = {
      request: { method: 'POST', url: 'https://a.test/new', body: { text: 'x' } },
      response: { status: 202 },
    };
    const seen = get('https://a.test/new', { status: 200 });
    const post = (status: number, redirect: 'follow' | 'manual' | 'error' = 'follow') =>
      open(moved(status), kept, seen).fetch('https://a.test/old', { method: 'POST', body: 'x', redirect });
    expect((await post(303)).status).toBe(200);
    expect((await post(307)).status).toBe(202);
    expect((await post(307)).redirected).toBe(true);
    expect((await post(307, 'manual')).status).toBe(307);
    await expect(post(307, 'error')).rejects.toThrow(TypeError);
    const loop = open(get('https://a.test/', { status: 302, headers: { location: '/' } }));
    await expect(loop.fetch('https://a.test/')).rejects.toThrow(TypeError);
    expect(loop.requests).toHaveLength(21);
  });

  it('refuses an aborted request, another scheme, and what is no cassette', async () => {
    const { fetch } = open(get('https://a.test/', { status: 200 }));
    await expect(fetch('https://a.test/', { signal: AbortSignal.abort(new Error('stop')) })).rejects.toThrow('stop');
    await expect(fetch('ftp://a.test/')).rejects.toThrow(TypeError);
    await expect(fetch('https://a.test/', { credential: 'api' })).rejects.toMatchObject({ code: 'EGRESS_DENIED' });
    await expect(fetch('https://a.test/', { retry: 6 })).rejects.toThrow(RangeError);
    expect((await fetch('https://a.test/', { retry: 2 })).status).toBe(200);
    expect(() => cassetteFetch([], [])).toThrow(TypeError);
    expect(() => cassetteFetch({ schema: 'glovebox.cassette/1', entries: [{}] }, [])).toThrow('http/entries/0/request');
  });

  it('is the global one too while a node runs with a cassette, and for that node alone', async () => {
    const server = createServer((_request, response) => response.end('live')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/`;
    const http = { schema: 'glovebox.cassette/1', entries: [get(url, { status: 200, body: { text: 'recorded' } })] };
    const node = defineNode<unknown, unknown, string>(async () => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return (await fetch(url)).text();
    });
    try {
      const [played, live, outside] = await Promise.all([runNode(node, { http }), runNode(node), fetch(url)]);
      expect([played, live]).toMatchObject([{ output: 'recorded' }, { output: 'live' }]);
      expect(await outside.text()).toBe('live');
      expect(played.requests).toEqual([{ method: 'GET', url, status: 200 }]);
      expect(live.requests).toEqual([]);
    } finally {
      server.close();
    }
  });

  it('has what needs nobody to answer: data and blobs', async () => {
    const { fetch, requests } = open();
    expect(await (await fetch('data:,x')).text()).toBe('x');
    const url = URL.createObjectURL(new Blob(['y']));
    expect(await (await fetch(url)).text()).toBe('y');
    expect(requests).toEqual([]);
  });

  it('fails as in a cell: the global one with a TypeError, and the node by the code of its cause', async () => {
    const http = { schema: 'glovebox.cassette/1', entries: [] };
    const told = defineNode<unknown, unknown, unknown[]>(async () => {
      const error = (await fetch('https://a.test/').catch((thrown: unknown) => thrown)) as Error;
      return [error.name, NodeError.is(error.cause, 'CASSETTE_MISS')];
    });
    expect(await runNode(told, { http })).toMatchObject({ output: ['TypeError', true] });
    const failing = defineNode<unknown, unknown, string>(async () => {
      const cause = await fetch('https://a.test/').catch((thrown: unknown) => thrown);
      throw new Error('lib', { cause });
    });
    expect(await runNode(failing, { http })).toMatchObject({ ok: false, error: { code: 'CASSETTE_MISS' } });
    const other = defineNode<unknown, unknown, string>(async () => {
      throw new Error('lib', { cause: new NodeError('MINE', 'mine') });
    });
    expect(await runNode(other, { http })).toMatchObject({ ok: false, error: { code: 'NODE_FAILED' } });
  });

  it('is what a node has in a test, and without a cassette it reaches nothing', async () => {
    const node = defineNode<unknown, unknown, string>(async (ctx) => {
      return (await ctx.fetch('https://a.test/')).text();
    });
    const http = {
      schema: 'glovebox.cassette/1',
      entries: [get('https://a.test/', { status: 200, body: { text: 'yes' } })],
    };
    expect(await runNode(node, { http })).toMatchObject({
      ok: true,
      output: 'yes',
      requests: [{ method: 'GET', url: 'https://a.test/', status: 200 }],
    });
    expect(await runNode(node)).toMatchObject({ ok: false, error: { code: 'CASSETTE_MISS' } });
  });
});
