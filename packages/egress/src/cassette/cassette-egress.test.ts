import { describe, expect, it } from 'vitest';
import { ask, openSession } from '../../test/cassette-cell.ts';
import { createCassetteEgress } from './cassette-egress.ts';
import { readCassette } from './index.ts';

const origin = { host: 'api.example.com', port: 443 };

function play(entries: object[], manifest: Partial<Parameters<typeof openSession>[1]> = {}) {
  const read = readCassette({ schema: 'glovebox.cassette/1', entries });
  if (!read.ok) throw new Error(`${read.path}: ${read.message}`);
  const { egress, player } = createCassetteEgress(read.cassette);
  return { ...openSession(egress, { ...origin, ...manifest }), egress, player };
}

const get = (path: string, response: object) => ({
  request: { method: 'GET', url: `https://api.example.com${path}` },
  response,
});

describe('a session over a cassette', () => {
  it('answers what was recorded, and records it as no answer of the network', async () => {
    const { session, records, player } = play([
      get('/a?x=1', { status: 201, headers: { etag: '"1"', 'set-cookie': ['a=1', 'b=2'] }, body: { text: 'é' } }),
      get('/bytes', { status: 200, body: { base64: '/wA=' } }),
    ]);
    const first = await ask(session, 'https://API.example.com:443/a?x=1');
    expect([first.status, first.headers.etag, first.headers['set-cookie'], first.body.toString()]).toEqual([
      201,
      '"1"',
      '["a=1","b=2"]',
      'é',
    ]);
    expect([...(await ask(session, 'https://api.example.com/bytes')).body]).toEqual([255, 0]);
    expect(records.filter(({ outcome }) => outcome === 'done')).toMatchObject([
      { path: '/a', address: 'cassette', protocol: 'cassette', status: 201, bytesDown: 2 },
      { path: '/bytes', address: 'cassette', bytesDown: 2 },
    ]);
    expect([player.misses, player.unused()]).toEqual([[], []]);
  });

  it('denies what the manifest does not declare, whatever the cassette has', async () => {
    const { session, player } = play([
      { request: { method: 'GET', url: 'https://evil.example.com/' }, response: { status: 200, body: { text: 'no' } } },
      get('/', { status: 200, body: { text: 'yes' } }),
    ]);
    const denied = await ask(session, 'https://evil.example.com/');
    expect([denied.status, denied.headers['glovebox-egress']]).toEqual([403, 'denied']);
    expect(JSON.parse(denied.body.toString())).toMatchObject({ code: 'EGRESS_DENIED', reason: 'HOST_NOT_DECLARED' });
    expect((await ask(session, 'https://api.example.com/')).body.toString()).toBe('yes');
    expect(player.unused()).toEqual([0]);
  });

  it('denies what an admin has denied', async () => {
    const { egress } = play([get('/', { status: 200 })]);
    const denials = [{ id: 'no-api', host: 'api.example.com', reason: 'test' }];
    const { session } = openSession(egress, origin, {
      schema: 'glovebox.egress-policy/1',
      allowances: [],
      maximum: null,
      denials,
    });
    expect(JSON.parse((await ask(session, 'https://api.example.com/')).body.toString())).toMatchObject({
      reason: 'DENIED_BY_POLICY',
    });
    expect((await ask(openSession(egress, origin).session, 'https://api.example.com/')).status).toBe(200);
  });

  it('tells a miss with the nearest request, as a failure of its own code that no library tries again', async () => {
    const { session, records, player } = play([get('/items?page=1', { status: 200 })]);
    const miss = await ask(session, 'https://api.example.com/items?page=2');
    expect([miss.status, miss.headers['glovebox-egress']]).toEqual([403, 'failed']);
    expect(JSON.parse(miss.body.toString())).toMatchObject({
      code: 'CASSETTE_MISS',
      reason: 'CASSETTE_MISS',
      details: { nearest: { entry: 0, url: 'https://api.example.com/items?page=1', differs: ['query'] } },
    });
    expect(records.at(-1)).toMatchObject({ outcome: 'failed', reason: 'CASSETTE_MISS', address: null });
    expect(player.misses).toHaveLength(1);
  });

  it('compares bodies as they were streamed', async () => {
    const { session } = play([
      {
        request: { method: 'POST', url: 'https://api.example.com/', body: { text: '{"n":1}' } },
        response: { status: 202 },
      },
    ]);
    const parts = (text: string) => [...text].map((letter) => Buffer.from(letter));
    expect((await ask(session, 'https://api.example.com/', { method: 'POST', body: parts('{"n":1}') })).status).toBe(
      202,
    );
    expect((await ask(session, 'https://api.example.com/', { method: 'POST', body: parts('{"n":2}') })).status).toBe(
      403,
    );
  });

  it('keeps the budgets of the manifest', async () => {
    const body = { text: 'x'.repeat(1000) };
    const many = play([get('/', { status: 200, body })], { maxRequests: 1 });
    expect((await ask(many.session, 'https://api.example.com/')).status).toBe(200);
    expect((await ask(many.session, 'https://api.example.com/')).headers['glovebox-egress']).toBe('over-budget');
    const large = play([get('/', { status: 200, body })], { maxResponseBytes: 999 });
    expect((await ask(large.session, 'https://api.example.com/')).reset).toMatch(/^RESPONSE_TOO_LARGE/);
  });

  it('answers nothing once the attempt has ended', async () => {
    const { session, player } = play([get('/', { status: 200 })]);
    session.end();
    expect((await ask(session, 'https://api.example.com/')).status).toBeUndefined();
    expect(player.unused()).toEqual([0]);
  });

  it('holds no WebSocket, and no body in answer to HEAD', async () => {
    const { session } = play([
      { request: { method: 'HEAD', url: 'https://api.example.com/' }, response: { status: 200, body: { text: 'x' } } },
      get('/ws', { status: 200, body: { text: 'x' } }),
    ]);
    const head = await ask(session, 'https://api.example.com/', { method: 'HEAD' });
    expect([head.status, head.body.length]).toEqual([200, 0]);
    const upgrade = await ask(session, 'https://api.example.com/ws', { headers: { 'glovebox-upgrade': 'websocket' } });
    expect(JSON.parse(upgrade.body.toString())).toMatchObject({ reason: 'WEBSOCKET_NOT_DECLARED' });
  });
});
