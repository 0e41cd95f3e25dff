import { GloveboxError } from '@glovebox/contract';
import { describe, expect, it } from 'vitest';
import { type Client, createClient } from './client.ts';
import type { FetchInit } from './fetch.ts';

interface Sent extends FetchInit {
  url: string;
}

/** A client of a server that answers with this, and what was sent to it. */
function clientOf(answer: { status?: number; type?: string; text?: string; body?: AsyncIterable<Uint8Array> }): {
  client: Client;
  sent: Sent[];
} {
  const sent: Sent[] = [];
  const { status = 200, type = 'application/json', text = '{}', body } = answer;
  const client = createClient({
    baseUrl: 'http://x',
    fetch: async (url, init) => {
      sent.push({ url, ...init });
      return {
        status,
        headers: { get: (name) => (name === 'content-type' ? type : null) },
        body: body ?? chunks(text),
        text: async () => text,
      };
    },
  });
  return { client, sent };
}

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

const params = { project: 'default' };
const listRuns = ({ client }: { client: Client }) => client.call('runs.list', { params });
const eventsOf = async ({ client }: { client: Client }) => {
  const events: unknown[] = [];
  for await (const event of client.stream('runs.logs', { params: { ...params, run: 'run_x' } })) events.push(event);
  return events;
};

describe('a call', () => {
  it('sends method, path, query and body as the route says, and no query that is undefined', async () => {
    const list = clientOf({ text: '{"runs":[]}' });
    await list.client.call('runs.list', { params, query: { limit: 5, node: undefined, state: 'FAILED' } });
    const verify = clientOf({ status: 500 });
    await verify.client
      .call('runs.verify', { params: { ...params, run: 'a/b' }, body: { keys: ['k'] } })
      .catch(() => undefined);
    expect([...list.sent, ...verify.sent]).toEqual([
      {
        url: 'http://x/v1/projects/default/runs?limit=5&state=FAILED',
        method: 'GET',
        headers: { accept: 'application/json' },
      },
      {
        url: 'http://x/v1/projects/default/runs/a%2Fb/verifications',
        method: 'POST',
        headers: { accept: 'application/json', 'content-type': 'application/json' },
        body: '{"keys":["k"]}',
      },
    ]);
  });

  it('knows by type what a route takes and gives', () => {
    const { client } = clientOf({});
    const typed = () => [
      // @ts-expect-error a parameter is missing
      client.call('runs.get', { params }),
      // @ts-expect-error a field that the query has not
      client.call('runs.list', { params, query: { limits: 1 } }),
      // @ts-expect-error a body that is missing
      client.call('releases.publish', { params }),
      // @ts-expect-error bytes are no JSON
      client.call('runs.file', { params: { ...params, run: '', name: '' } }),
      // @ts-expect-error no stream
      client.stream('runs.list', { params }),
      client.call('runs.list', { params }).then(({ runs }) => runs.map(({ id }) => id satisfies string)),
    ];
    expect(typed).toBeTypeOf('function');
  });

  it('throws the error that a problem tells, whole', async () => {
    const problem = {
      type: 'urn:glovebox:error:VERSION_EXISTS',
      title: 't',
      status: 409,
      detail: 'it is there',
      code: 'VERSION_EXISTS',
      hint: 'h',
      place: { file: 'a' },
      details: { digest: 'd' },
    };
    const told = await listRuns(
      clientOf({ status: 409, type: 'application/problem+json', text: JSON.stringify(problem) }),
    ).catch((error: unknown) => error);
    expect(told).toBeInstanceOf(GloveboxError);
    expect((told as GloveboxError).toData()).toEqual({
      code: 'VERSION_EXISTS',
      message: 'it is there',
      hint: 'h',
      place: { file: 'a' },
      details: { digest: 'd' },
    });
  });

  it.each([
    ['no JSON', { text: '<html>' }],
    ['another shape', { text: '{"runs":[{"id":1}]}' }],
    ['a field too many', { text: '{"runs":[],"more":1}' }],
    ['another status', { status: 204, text: '' }],
    ['an error of something in between', { status: 502, type: 'text/html', text: 'Bad Gateway' }],
    ['a problem of another API', { status: 400, type: 'application/problem+json', text: '{"title":"x"}' }],
    [
      'a code that it does not know',
      {
        status: 400,
        type: 'application/problem+json',
        text: '{"type":"","title":"","status":400,"detail":"","code":"NEW"}',
      },
    ],
  ])('takes no answer for one that is %s', async (_, answer) => {
    await expect(listRuns(clientOf(answer))).rejects.toMatchObject({ code: 'RESPONSE_INVALID' });
  });

  it('is not even sent once its signal is aborted, and ends when it is', async () => {
    const { client, sent } = clientOf({ text: '{"runs":[]}' });
    await expect(client.call('runs.list', { params, signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'INTERRUPTED',
    });
    expect(sent).toEqual([]);
    const hanging = createClient({
      baseUrl: 'http://x',
      fetch: (_, { signal }) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(new Error('aborted')))),
    });
    const abort = new AbortController();
    const call = hanging.call('runs.list', { params, signal: abort.signal });
    abort.abort();
    await expect(call).rejects.toMatchObject({ code: 'INTERRUPTED' });
  });
});

describe('a stream', () => {
  const accepted = 'event: accepted\ndata: {"event":"accepted","operation":"op_1"}\n\n';
  const log =
    'event: log\ndata: {"event":"log","record":{"atMs":1,"source":"node","level":"info","message":"m","fields":{"__proto__":1},"seq":3}}\n\n';
  const result =
    'event: result\ndata: {"run":"run_0123456789abcdefghjkmn","attempt":"att_0123456789abcdefghjkmn","state":"LOST","records":[]}\n\n';

  it('gives its events and its result, and keeps __proto__ of a value', async () => {
    const events = await eventsOf(clientOf({ text: accepted + log + result }));
    expect(events).toMatchObject([{ event: 'log' }, { event: 'result', result: { state: 'LOST' } }]);
    expect(JSON.stringify(events[0])).toContain('{"__proto__":1}');
  });

  it.each([
    ['breaks off', accepted + log, 'RESPONSE_INVALID'],
    ['ends in the middle of an event', accepted + result.slice(0, -2), 'RESPONSE_INVALID'],
    ['tells something else', `${accepted}event: other\ndata: {"event":"other"}\n\n${result}`, 'RESPONSE_INVALID'],
    [
      'ends with a problem',
      `${accepted}event: problem\ndata: {"type":"","title":"","status":409,"detail":"d","code":"DRAFT_BUSY"}\n\n`,
      'DRAFT_BUSY',
    ],
  ])('that %s throws', async (_, text, code) => {
    await expect(eventsOf(clientOf({ text }))).rejects.toMatchObject({ code });
  });

  it('is wound up by its operation, once, with the reason', async () => {
    const release = Promise.withResolvers<void>();
    const sent: string[] = [];
    const body = (async function* () {
      yield Buffer.from(accepted + log);
      await release.promise;
      yield Buffer.from(result);
    })();
    const windUp = new AbortController();
    const client = createClient({
      baseUrl: 'http://x',
      fetch: async (url, { method }) => {
        sent.push(`${method} ${url}`);
        if (method === 'DELETE') release.resolve();
        const text = '{"cancelling":true}';
        return { status: 200, headers: { get: () => null }, body, text: async () => text };
      },
    });
    for await (const event of client.stream('runs.logs', { params: { ...params, run: 'r' }, windUp: windUp.signal }))
      if (event.event === 'log') windUp.abort('enough');
    expect(sent.slice(1)).toEqual(['DELETE http://x/v1/projects/default/operations/op_1?reason=enough']);
  });

  it('is ended where it cannot be wound up', async () => {
    let ended = false;
    const client = createClient({
      baseUrl: 'http://x',
      fetch: async (_, { method, signal }) => {
        if (method === 'DELETE') throw new Error('unreachable');
        const body = (async function* () {
          yield Buffer.from(accepted);
          await new Promise((resolve) => signal?.addEventListener('abort', resolve));
          ended = true;
        })();
        return { status: 200, headers: { get: () => null }, body, text: async () => '' };
      },
    });
    const stream = client.stream('runs.logs', { params: { ...params, run: 'r' }, windUp: AbortSignal.abort('x') });
    await expect(stream.next()).rejects.toThrow('unreachable');
    expect(ended).toBe(true);
  });
});
