import { readdirSync, readlinkSync } from 'node:fs';
import { type ErrorCode, errorCatalogue, errorCodes, GloveboxError } from '@glovebox/contract';
import { problemSchema, problemStatus, roles } from '@glovebox/contract/routes';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApp, type TestApp } from '../test/kit.ts';

let test: TestApp;
beforeAll(async () => {
  test = await openTestApp();
});
afterAll(() => test.close());

const problemOf = async (response: Response) => {
  expect(response.headers.get('content-type')).toBe('application/problem+json');
  const problem = problemSchema.parse(await response.json());
  expect(problem.status).toBe(response.status);
  return problem;
};
const runs = '/v1/projects/default/runs';

/** How many blobs this process has open. */
function openBlobs(): number {
  return readdirSync('/proc/self/fd').filter((name) => {
    try {
      return readlinkSync(`/proc/self/fd/${name}`).includes('/blobs/sha256/');
    } catch {
      // That of the listing itself.
      return false;
    }
  }).length;
}

describe('an answer', () => {
  it('is JSON that nobody keeps or takes for a page', async () => {
    const { run } = await test.record();
    const response = await test.send('GET', `${runs}?limit=1`);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toEqual({
      'cache-control': 'no-store',
      'content-type': 'application/json',
      'x-content-type-options': 'nosniff',
    });
    expect(await response.json()).toMatchObject({ runs: [{ id: run.id, state: 'SUCCEEDED' }] });
  });

  it('serves what a node wrote as bytes, whatever the node calls them', async () => {
    const { run } = await test.record();
    const response = await test.send('GET', `${runs}/${run.id}/files/table.html`);
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(await response.text()).toBe('content');
    expect(await problemOf(await test.send('GET', `${runs}/${run.id}/files/other`))).toMatchObject({
      code: 'NOT_FOUND',
      hint: 'It has table.html.',
    });
  });

  it('holds a file open while it can be read, and no longer where the caller leaves before the first byte', async () => {
    const { run } = await test.record();
    const path = `${runs}/${run.id}/files/table.html`;
    const response = await test.send('GET', path);
    expect(openBlobs()).toBe(1);
    await response.body?.cancel();
    expect(openBlobs()).toBe(0);
    const reply = await test.app.inProcess(`http://x${path}`, { method: 'GET', headers: {} });
    expect(openBlobs()).toBe(1);
    await reply.body[Symbol.asyncIterator]().return?.();
    expect(openBlobs()).toBe(0);
    for await (const _ of (await test.app.inProcess(`http://x${path}`, { method: 'GET', headers: {} })).body) break;
    expect(openBlobs()).toBe(0);
  });

  it('keeps __proto__ and every number of a value', async () => {
    const text = '{"__proto__":{"a":1},"big":9007199254740993,"x":1.0}';
    const { run } = await test.record(
      [{ atMs: 1, source: 'node', level: 'info', message: 'm', fields: JSON.parse('{"__proto__":[1]}') }],
      {
        inputText: text,
      },
    );
    const view = (await (await test.send('GET', `${runs}/${run.id}`)).json()) as { run: { inputText: string } };
    expect(view.run.inputText).toBe(text);
    expect(await (await test.send('GET', `${runs}/${run.id}/logs`)).text()).toContain('"fields":{"__proto__":[1]}');
  });
});

describe('a request that is none', () => {
  const notFound = [
    '/',
    '/v1',
    '/v1/projects/default',
    `${runs}/`,
    '/v1/projects/default/runs/x/y/z/../../../../../etc/passwd',
  ];
  const params = [
    '..%2f..%2fetc',
    '%2e%2e%2fetc',
    'run_%00000000000000000000000',
    'run_0123456789abcdefghjkmn%2f',
    'run_0123456789abcdefghjkmn%0a',
    '%',
    '%zz',
    '%f0%9f%8e%88',
    '%ff',
    'x'.repeat(3000),
    ' ',
    'run_0123456789ABCDEFGHJKMN',
  ];

  it.each([
    ...notFound,
    ...params.map((param) => `${runs}/${param}`),
    ...params.map((param) => `/v1/projects/${param}/runs`),
  ])('names nothing: GET %s', async (path) => {
    expect(await problemOf(await test.send('GET', path))).toMatchObject({ code: 'NOT_FOUND', status: 404 });
  });

  it.each(params)('names no file of a run: %s', async (param) => {
    const { run } = await test.record();
    const { code } = await problemOf(await test.send('GET', `${runs}/${run.id}/files/${param}`));
    expect(code).toBe('NOT_FOUND');
  });

  it('names nothing by another method', async () => {
    for (const method of ['PUT', 'DELETE', 'PATCH', 'OPTIONS'])
      expect(await problemOf(await test.send(method, runs))).toMatchObject({ code: 'NOT_FOUND' });
    expect((await test.send('HEAD', runs)).status).toBe(404);
  });

  it.each([
    ['a field that is unknown', '?unheard=1', '/unheard', '"unheard"'],
    ['a field that stands twice', '?limit=1&limit=2', '/limit', '"limit"'],
    ['a number that is none', '?limit=1e3', '/limit', 'limit'],
    ['a number beyond its range', '?limit=1001', '/limit', 'limit'],
    ['an empty number', '?limit=', '/limit', 'limit'],
    ['an id of another form', '?before=run_x', '/before', 'before'],
    ['a state that there is not', '?state=DONE', '/state', 'state'],
    ['__proto__', '?__proto__=1', '/__proto__', '"__proto__"'],
    ['constructor', '?constructor=1', '/constructor', '"constructor"'],
  ])('is refused by name for %s in its query', async (_, query, path, named) => {
    const problem = await problemOf(await test.send('GET', runs + query));
    expect(problem).toMatchObject({ code: 'REQUEST_INVALID', status: 400, place: { path } });
    expect(problem.detail).toContain(named);
  });

  it('is refused when its URL is overlong', async () => {
    const { code, status } = await problemOf(await test.send('GET', `${runs}?node=${'x'.repeat(9000)}`));
    expect({ code, status }).toEqual({ code: 'REQUEST_TOO_LARGE', status: 413 });
  });

  const good = { reference: 'some-node', inputText: '{}', configText: '{}' };
  it.each([
    ['an unknown field', { ...good, dryRun: true }, '/dryRun'],
    ['a field of another type', { ...good, inputText: {} }, '/inputText'],
    ['a missing field', { inputText: '{}', configText: '{}' }, '/reference'],
    [
      '__proto__',
      `{"__proto__":{"reference":"x"},"reference":"some-node","inputText":"{}","configText":"{}"}`,
      '/__proto__',
    ],
    ['a list', [], '/'],
    ['null', 'null', '/'],
  ])('is refused by name for %s in its body', async (_, body, path) => {
    expect(await problemOf(await test.send('POST', runs, { body }))).toMatchObject({
      code: 'REQUEST_INVALID',
      status: 400,
      place: { path },
    });
  });

  it.each([
    ['no JSON', '{'],
    ['an empty text', ''],
    ['one that nests deeper than any body', `${'['.repeat(100_000)}`],
    ['a number that a double cannot hold', '{"reference":9007199254740993}'],
  ])('is refused for a body that is %s', async (_, body) => {
    expect(await problemOf(await test.send('POST', runs, { body }))).toMatchObject({ code: 'REQUEST_INVALID' });
  });

  it('is refused for a body of another kind, as a form of another site would send it', async () => {
    const response = await test.send('POST', runs, { body: good, headers: { 'content-type': 'text/plain' } });
    expect(await problemOf(response)).toMatchObject({ code: 'REQUEST_INVALID' });
  });

  it('is refused for a body where there is none to send', async () => {
    const response = await test.app.fetch(
      new Request(`http://x${runs}/x`, {
        method: 'DELETE',
        body: '{}',
        headers: { 'content-type': 'application/json' },
      }),
    );
    expect(response.status).toBe(404);
    const cancel = '/v1/projects/default/operations/op_0123456789abcdefghjkmn';
    expect(await problemOf(await test.send('DELETE', cancel, { body: {} }))).toMatchObject({ code: 'REQUEST_INVALID' });
    expect(await (await test.send('DELETE', cancel)).json()).toEqual({ cancelling: false });
  });
});

describe('a body', () => {
  const endless = (chunkBytes: number) => {
    const read = { bytes: 0 };
    const chunk = Buffer.alloc(chunkBytes, '[');
    const stream = new ReadableStream({
      pull(controller) {
        read.bytes += chunk.length;
        controller.enqueue(chunk);
      },
    });
    return { read, stream };
  };

  it('is read no further than its route allows, and is not parsed', async () => {
    const { read, stream } = endless(64 * 1024);
    const verify = `${runs}/run_0123456789abcdefghjkmn/verifications`;
    const problem = await problemOf(await test.send('POST', verify, { body: stream }));
    expect(problem).toMatchObject({ code: 'REQUEST_TOO_LARGE', status: 413 });
    expect(read.bytes).toBeLessThan(2 * 1024 * 1024);
  });

  it('is not read at all when it says itself that it is too large', async () => {
    const { read, stream } = endless(1024);
    const verify = `${runs}/run_0123456789abcdefghjkmn/verifications`;
    const response = await test.send('POST', verify, { body: stream, headers: { 'content-length': '99999999999' } });
    expect(await problemOf(response)).toMatchObject({ code: 'REQUEST_TOO_LARGE' });
    expect(read.bytes).toBeLessThanOrEqual(2 * 1024);
  });

  it('is held to its limit in process too', async () => {
    const reply = await test.app.inProcess(`http://x${runs}/run_0123456789abcdefghjkmn/verifications`, {
      method: 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json' },
      body: JSON.stringify({ keys: ['x'.repeat(2_000_000)] }),
    });
    expect(reply.status).toBe(413);
    expect(await reply.text()).toContain('"code":"REQUEST_TOO_LARGE"');
  });
});

describe('what is not the caller’s', () => {
  it('is not found: the runs of another project, by their list and by their ids', async () => {
    const { run } = await test.record([], { project: 'other' });
    for (const path of ['/v1/projects/other/runs', `/v1/projects/other/runs/${run.id}`, `${runs}/${run.id}`])
      expect(await problemOf(await test.send('GET', path))).toMatchObject({ code: 'NOT_FOUND', status: 404 });
    const several = await openTestApp({ projects: ['default', 'other'] });
    const theirs = await several.record([], { project: 'other' });
    expect((await several.send('GET', `/v1/projects/other/runs/${theirs.run.id}`)).status).toBe(200);
    expect((await several.send('GET', `${runs}/${theirs.run.id}`)).status).toBe(404);
    await several.close();
  });

  it('is refused to a principal without the role, and done for one that has it and no other', async () => {
    const viewer = await openTestApp({ principal: { name: 'v', roles: ['viewer'] } });
    expect((await viewer.send('GET', runs)).status).toBe(200);
    const body = { reference: 'some-node', inputText: '{}', configText: '{}' };
    expect(await problemOf(await viewer.send('POST', runs, { body }))).toMatchObject({
      code: 'ROLE_MISSING',
      status: 403,
    });
    await viewer.close();
    const others = await openTestApp({ principal: { name: 'o', roles: roles.filter((role) => role !== 'viewer') } });
    expect(await problemOf(await others.send('GET', runs))).toMatchObject({ code: 'ROLE_MISSING' });
    await others.close();
  });
});

describe('an error', () => {
  const failing = async (error: unknown, onDefect?: (defect: unknown) => void) => {
    const broken = await openTestApp(onDefect === undefined ? {} : { onDefect });
    // The port fails in the way that a port may.
    Object.assign(broken.engine.store, { list: () => Promise.reject(error) });
    const response = await broken.send('GET', runs);
    await broken.close();
    return response;
  };

  it.each(errorCodes.filter((code) => code !== 'INTERNAL'))(
    '%s is told whole, with the status of what it means',
    async (code) => {
      const data = {
        message: `of ${code}`,
        hint: 'a hint',
        place: { file: 'a.ts', path: '/x', line: 1, column: 2 },
        details: { __proto__: null, n: [1] },
      };
      const response = await failing(new GloveboxError(code, data));
      const problem = await problemOf(response);
      expect(problem).toEqual({
        type: `urn:glovebox:error:${code}`,
        title: errorCatalogue[code].summary,
        status: problemStatus(code),
        detail: `of ${code}`,
        code,
        hint: 'a hint',
        place: data.place,
        details: { n: [1] },
      });
    },
  );

  it('has a status by what a caller can do', () => {
    const by = (code: ErrorCode) => problemStatus(code);
    expect({
      mendInput: by('INPUT_INVALID'),
      host: by('IMAGE_MISSING'),
      retry: by('STORE_BUSY'),
      refused: by('PLAN_REFUSED'),
      failed: by('NODE_FAILED'),
      ours: by('INTERNAL'),
      interrupted: by('INTERRUPTED'),
      absent: by('NOT_FOUND'),
      conflict: by('VERSION_EXISTS'),
      revoked: by('RELEASE_REVOKED'),
      full: by('DISK_FULL'),
    }).toEqual({
      mendInput: 400,
      host: 503,
      retry: 503,
      refused: 403,
      failed: 422,
      ours: 500,
      interrupted: 503,
      absent: 404,
      conflict: 409,
      revoked: 410,
      full: 507,
    });
  });

  it.each<[what: string, defect: unknown]>([
    [
      'an exception',
      Object.assign(new TypeError('no such table: secrets at /data/x'), { code: 'EBADF', path: '/data/x' }),
    ],
    ['what is no error at all', 'no such table: secrets at /data/x'],
    [
      'one that has crossed a thread',
      new GloveboxError('INTERNAL', {
        message: 'no such table: secrets at /data/x',
        place: { file: '/data/x' },
        details: { sql: 'secrets' },
      }),
    ],
  ])(
    'of ours is told as INTERNAL without a word of it, and whole to whoever runs the server: %s',
    async (_, defect) => {
      const defects: unknown[] = [];
      expect(await problemOf(await failing(defect, (error) => defects.push(error)))).toEqual({
        type: 'urn:glovebox:error:INTERNAL',
        title: errorCatalogue.INTERNAL.summary,
        status: 500,
        detail: errorCatalogue.INTERNAL.summary,
        code: 'INTERNAL',
        hint: errorCatalogue.INTERNAL.hint,
      });
      expect(defects).toEqual([defect]);
    },
  );

  it('of ours is told no more of as the end of a stream', async () => {
    const broken = await openTestApp();
    const { run } = await broken.record();
    Object.assign(broken.engine.store, { logs: () => Promise.reject(new TypeError('no such table: secrets')) });
    const response = await broken.send('GET', `${runs}/${run.id}/logs`, { headers: { accept: 'text/event-stream' } });
    const text = await response.text();
    expect(text).toContain('"code":"INTERNAL"');
    expect(text).not.toContain('secrets');
    await broken.close();
  });

  it('of a disk is told by its own code', async () => {
    const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC', path: '/data/x' });
    expect(await problemOf(await failing(full))).toMatchObject({ code: 'DISK_FULL', place: { file: '/data/x' } });
  });
});
