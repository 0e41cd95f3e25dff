import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { GloveboxError } from '@glovebox/contract';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPackageSource, type PackageSourceOptions } from './package-source.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let home: string;
let cacheDir: string;
let servers: Server[];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'glovebox-registry-'));
  cacheDir = join(home, 'cache');
  servers = [];
});
afterEach(async () => {
  for (const server of servers) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
  rmSync(home, { recursive: true, force: true });
});

const tarball = randomBytes(200_000);
const sri = (bytes: Uint8Array): string => `sha512-${createHash('sha512').update(bytes).digest('base64')}`;
const integrity = sri(tarball);
const wanted = { name: 'left-pad', version: '1.3.0', integrity };
const metadata = (more: object = {}): object => ({
  name: 'left-pad',
  version: '1.3.0',
  dist: { integrity, tarball: 'http://elsewhere.test/x.tgz' },
  ...more,
});

const json =
  (value: object): Handler =>
  (_, response) =>
    response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
const bytes =
  (value: Uint8Array): Handler =>
  (_, response) =>
    response.end(value);
const status =
  (code: number, headers: Record<string, string> = {}): Handler =>
  (_, response) =>
    response.writeHead(code, headers).end('{"error":"canary text"}');
/** Answers with each handler once, and then with the last for ever. */
const inTurn =
  (...handlers: Handler[]): Handler =>
  (request, response) =>
    (handlers.length > 1 ? handlers.shift() : handlers[0])?.(request, response);

const sound: Record<string, Handler> = {
  '/left-pad/1.3.0': json(metadata()),
  '/left-pad/-/left-pad-1.3.0.tgz': bytes(tarball),
};

/** A registry on loopback that answers what the routes say and 404 to all else. */
async function registry(routes: Record<string, Handler>, tls?: { key: string; cert: string }) {
  const seen: { url: string; authorization: string | undefined }[] = [];
  const handle: Handler = (request, response) => {
    seen.push({ url: request.url ?? '', authorization: request.headers.authorization });
    (routes[request.url ?? ''] ?? status(404))(request, response);
  };
  const server = tls === undefined ? createHttpServer(handle) : createHttpsServer(tls, handle);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${port}/`,
    seen,
    paths: () => seen.map(({ url }) => url),
  };
}

const quick = { retryDelaysMs: [1, 1], idleMs: 10_000, totalMs: 20_000 };
const sourceOf = (url: string, more: Partial<PackageSourceOptions> = {}) =>
  createPackageSource({
    cacheDir,
    env: { HOME: home, npm_config_registry: url },
    ...more,
    limits: { ...quick, ...more.limits },
  });

const failure = (promise: Promise<unknown>): Promise<GloveboxError> =>
  promise.then(
    () => expect.fail('was not refused'),
    (error: unknown) => error as GloveboxError,
  );

/** Fetch from a registry that differs from a sound one in some routes. */
async function fetchFrom(routes: Record<string, Handler>, more: Partial<PackageSourceOptions> = {}) {
  const { url, paths, seen } = await registry({ ...sound, ...routes });
  return { result: sourceOf(url, more).tarball(wanted), paths, seen, url };
}

describe('a cancelled fetch', () => {
  const silent: Record<string, Handler> = { '/left-pad/1.3.0': () => {} };
  const stalls: Record<string, Handler> = {
    '/left-pad/-/left-pad-1.3.0.tgz': (_, response) => void response.write(tarball.subarray(0, 1000)),
  };

  it.each([
    ['a registry that says nothing', silent, {}],
    ['one that stops midway', stalls, {}],
    [
      'a pause before another attempt',
      { '/left-pad/1.3.0': status(503) },
      { limits: { retryDelaysMs: [10_000], retryAfterMs: 20_000 } },
    ],
  ])('does not wait for %s', async (_, routes, more) => {
    const { url, paths } = await registry({ ...sound, ...routes });
    const cancel = new AbortController();
    const result = failure(sourceOf(url, more).tarball(wanted, cancel.signal));
    while (paths().length < (routes === stalls ? 2 : 1)) await sleep(5);
    await sleep(50);
    cancel.abort();
    const settled = await Promise.race([result, sleep(5000, 'still waiting', { ref: false })]);
    expect(settled).toMatchObject({ code: 'INTERRUPTED' });
  });

  it('does not wait for its turn either, and those whose turn it is go on', async () => {
    const held: (() => void)[] = [];
    let holds = true;
    const { url, paths } = await registry({
      ...sound,
      '/left-pad/1.3.0': (request, response) => {
        const answer = (): void => json(metadata())(request, response);
        if (holds) held.push(answer);
        else answer();
      },
    });
    const source = sourceOf(url);
    const others = Array.from({ length: 8 }, () => source.tarball(wanted));
    while (paths().length < 8) await sleep(5);
    const cancel = new AbortController();
    const result = failure(source.tarball(wanted, cancel.signal));
    await sleep(20);
    cancel.abort();
    const settled = await Promise.race([result, sleep(5000, 'still waiting', { ref: false })]);
    expect(settled).toMatchObject({ code: 'INTERRUPTED' });
    const next = source.tarball(wanted);
    holds = false;
    for (const answer of held) answer();
    for (const other of await Promise.all(others)) expect(Buffer.from(other).equals(tarball)).toBe(true);
    expect(Buffer.from(await next).equals(tarball)).toBe(true);
  });

  it('asks for nothing when it is cancelled before, and succeeds with a signal that stays silent', async () => {
    const { url, paths } = await registry(sound);
    expect(await failure(sourceOf(url).tarball(wanted, AbortSignal.abort()))).toMatchObject({ code: 'INTERRUPTED' });
    expect(paths()).toEqual([]);
    const bytes = await sourceOf(url).tarball(wanted, new AbortController().signal);
    expect(Buffer.from(bytes).equals(tarball)).toBe(true);
  });
});

describe('a package', () => {
  it('is fetched from the address that its name and version make, not from the one that the metadata states', async () => {
    const { result, paths } = await fetchFrom({});
    expect(Buffer.from(await result).equals(tarball)).toBe(true);
    expect(paths()).toEqual(['/left-pad/1.3.0', '/left-pad/-/left-pad-1.3.0.tgz']);
  });

  it('may have a name of old, which begins with an underscore', async () => {
    const name = '@_scope/_Old';
    const { url } = await registry({
      '/@_scope%2f_Old/1.3.0': json(metadata({ name })),
      '/@_scope/_Old/-/_Old-1.3.0.tgz': bytes(tarball),
    });
    expect(Buffer.from(await sourceOf(url).tarball({ ...wanted, name })).equals(tarball)).toBe(true);
  });

  it('may have a scope, and the registry a path', async () => {
    const { url, paths } = await registry({
      '/npm/@scope%2fname/1.0.0-rc.1': json({ name: '@scope/name', version: '1.0.0-rc.1', dist: { integrity } }),
      '/npm/@scope/name/-/name-1.0.0-rc.1.tgz': bytes(tarball),
    });
    const found = await sourceOf(`${url}npm`).tarball({ name: '@scope/name', version: '1.0.0-rc.1', integrity });
    expect(found.byteLength).toBe(tarball.byteLength);
    expect(paths()).toHaveLength(2);
  });

  it('is found by registries that serve only the metadata of all versions', async () => {
    const { result, paths } = await fetchFrom({
      '/left-pad/1.3.0': status(404),
      '/left-pad': json({ name: 'left-pad', versions: { '1.3.0': metadata() } }),
    });
    expect((await result).byteLength).toBe(tarball.byteLength);
    expect(paths()).toEqual(['/left-pad/1.3.0', '/left-pad', '/left-pad/-/left-pad-1.3.0.tgz']);
  });

  it('may come packed for the way', async () => {
    const packed: Handler = (_, response) =>
      response.setHeader('content-encoding', 'gzip').end(gzipSync(JSON.stringify(metadata())));
    expect((await (await fetchFrom({ '/left-pad/1.3.0': packed })).result).byteLength).toBe(tarball.byteLength);
  });

  it('comes from the cache the second time, without a network call, also for another source and with the registry gone', async () => {
    const { result, url, paths } = await fetchFrom({});
    await result;
    const calls = paths().length;
    expect(Buffer.from(await sourceOf(url).tarball(wanted)).equals(tarball)).toBe(true);
    expect(paths()).toHaveLength(calls);
    await new Promise((resolve) => servers[0]?.close(resolve));
    expect(Buffer.from(await sourceOf(url).tarball(wanted)).equals(tarball)).toBe(true);
    expect(statSync(cacheDir).mode & 0o777).toBe(0o700);
  });

  it('is fetched by many at once', async () => {
    const names = Array.from({ length: 30 }, (_, i) => `p${i}`);
    const routes = names.flatMap((name): [string, Handler][] => [
      [`/${name}/1.0.0`, json({ name, version: '1.0.0', dist: { integrity } })],
      [`/${name}/-/${name}-1.0.0.tgz`, bytes(tarball)],
    ]);
    const source = sourceOf((await registry(Object.fromEntries(routes))).url);
    const found = await Promise.all(names.map((name) => source.tarball({ name, version: '1.0.0', integrity })));
    expect(found.every((one) => tarball.equals(one))).toBe(true);
  });
});

describe('integrity', () => {
  const other = sri(Buffer.from('other bytes'));
  it.each<[string, Record<string, Handler>]>([
    ['the metadata states another integrity', { '/left-pad/1.3.0': json(metadata({ dist: { integrity: other } })) }],
    [
      'the metadata states two integrities',
      { '/left-pad/1.3.0': json(metadata({ dist: { integrity: `${integrity} ${other}` } })) },
    ],
    [
      'the metadata states only a sha1',
      { '/left-pad/1.3.0': json(metadata({ dist: { integrity: 'sha1-qUGi0b8nAmLmkBk2Hwhd1AQ2zcM=' } })) },
    ],
    ['the metadata states none', { '/left-pad/1.3.0': json(metadata({ dist: { shasum: 'aa' } })) }],
    ['the metadata is of another version', { '/left-pad/1.3.0': json(metadata({ version: '1.3.1' })) }],
    ['the metadata is of another package', { '/left-pad/1.3.0': json(metadata({ name: 'right-pad' })) }],
    ['the tarball has other bytes', { '/left-pad/-/left-pad-1.3.0.tgz': bytes(randomBytes(tarball.length)) }],
    ['the tarball is empty', { '/left-pad/-/left-pad-1.3.0.tgz': bytes(Buffer.alloc(0)) }],
    [
      'the tarball has a byte more',
      { '/left-pad/-/left-pad-1.3.0.tgz': bytes(Buffer.concat([tarball, Buffer.of(0)])) },
    ],
  ])('is refused when %s, and nothing of it is kept', async (_, routes) => {
    const error = await failure((await fetchFrom(routes)).result);
    expect(error).toMatchObject({ code: 'DEPENDENCY_INTEGRITY', message: expect.stringContaining('left-pad@1.3.0') });
    const again = await fetchFrom({});
    expect((await again.result).byteLength).toBe(tarball.byteLength);
    expect(again.paths()).toHaveLength(2);
  });

  it('may be stated besides weaker ones', async () => {
    const both = {
      '/left-pad/1.3.0': json(metadata({ dist: { integrity: `sha1-qUGi0b8nAmLmkBk2Hwhd1AQ2zcM= ${integrity}` } })),
    };
    expect((await (await fetchFrom(both)).result).byteLength).toBe(tarball.byteLength);
  });

  it('is asked for anew when the lockfile names another one for the same version', async () => {
    const { result, url } = await fetchFrom({});
    await result;
    expect(await failure(sourceOf(url).tarball({ ...wanted, integrity: other }))).toMatchObject({
      code: 'DEPENDENCY_INTEGRITY',
    });
  });

  it('of a file in the cache that was changed is not given out: the package is fetched again, and kept', async () => {
    const { result, url, paths } = await fetchFrom({});
    await result;
    const [content] = readdirSync(join(cacheDir, 'content-v2'), { recursive: true, withFileTypes: true }).filter(
      (entry) => entry.isFile(),
    );
    const path = join(content?.parentPath ?? '', content?.name ?? '');
    for (const damage of [randomBytes(tarball.length), Buffer.alloc(0), Buffer.concat([tarball, tarball])]) {
      writeFileSync(path, damage);
      const before = paths().length;
      expect(Buffer.from(await sourceOf(url).tarball(wanted)).equals(tarball)).toBe(true);
      expect(paths()).toHaveLength(before + 2);
      expect(readFileSync(path).equals(tarball)).toBe(true);
      await sourceOf(url).tarball(wanted);
      expect(paths()).toHaveLength(before + 2);
    }
  });

  it('of an entry in the cache that was made to name other bytes is not believed', async () => {
    const { default: cacache } = await import('cacache');
    const { result, url } = await fetchFrom({});
    await result;
    const evil = Buffer.from('evil bytes');
    const key = `glovebox:tarball:${JSON.stringify([url, wanted.name, wanted.version, integrity])}`;
    expect(await cacache.get.info(cacheDir, key)).toMatchObject({ integrity });
    await cacache.put(cacheDir, key, evil, { integrity: sri(evil), algorithms: ['sha512'] });
    expect(Buffer.from(await sourceOf(url).tarball(wanted)).equals(tarball)).toBe(true);
  });

  it('of one registry does not vouch for another', async () => {
    await (await fetchFrom({})).result;
    const second = await fetchFrom({ '/left-pad/1.3.0': status(404), '/left-pad': status(404) });
    expect(await failure(second.result)).toMatchObject({ code: 'DEPENDENCY_NOT_FOUND' });
  });
});

describe('requests that no registry could answer', () => {
  it.each([
    { name: '../left-pad' },
    { name: 'a/b' },
    { name: '@scope/../x' },
    { name: 'http://evil.test/x' },
    { name: '@/x' },
    { name: '' },
    { name: '.hidden' },
    { name: 'x?y' },
    { name: 'x'.repeat(215) },
    { version: 'latest' },
    { version: '^1.0.0' },
    { version: '1.0.0/../2.0.0' },
    { version: '' },
    { integrity: 'sha1-qUGi0b8nAmLmkBk2Hwhd1AQ2zcM=' },
    { integrity: '' },
    { integrity: `${integrity} ${integrity}` },
    { integrity: `${integrity}?opt` },
  ])('are refused before a network call: %o', async (wrong) => {
    const { url, seen } = await registry(sound);
    expect(await failure(sourceOf(url).tarball({ ...wanted, ...wrong }))).toMatchObject({
      code: 'LOCKFILE_ENTRY_REFUSED',
    });
    expect(seen).toEqual([]);
  });
});

describe('what is not there', () => {
  it.each<[string, Record<string, Handler>, string]>([
    ['package', { '/left-pad/1.3.0': status(404) }, 'no package left-pad'],
    [
      'version',
      { '/left-pad/1.3.0': status(404), '/left-pad': json({ versions: { '1.2.0': {} } }) },
      'no version 1.3.0 of left-pad',
    ],
    [
      'version that only the prototype has',
      { '/left-pad/1.3.0': status(404), '/left-pad': json({ versions: {} }) },
      'no version',
    ],
    ['tarball', { '/left-pad/-/left-pad-1.3.0.tgz': status(404) }, 'no tarball'],
  ])('is named: %s', async (_, routes, text) => {
    const error = await failure((await fetchFrom(routes)).result);
    expect(error).toMatchObject({ code: 'DEPENDENCY_NOT_FOUND', message: expect.stringContaining(text) });
  });
});

describe('a registry in trouble', () => {
  it.each([500, 503, 429, 408])('is asked again after a %i', async (code) => {
    const { result, paths } = await fetchFrom({
      '/left-pad/1.3.0': inTurn(status(code), status(code), json(metadata())),
      '/left-pad/-/left-pad-1.3.0.tgz': inTurn(status(code), bytes(tarball)),
    });
    expect((await result).byteLength).toBe(tarball.byteLength);
    expect(paths()).toHaveLength(5);
  });

  it('is asked again when the connection breaks off in the middle, and the pieces are not mixed', async () => {
    const breaks: Handler = (_, response) => {
      response.writeHead(200, { 'content-length': String(tarball.length) });
      response.write(tarball.subarray(0, 100_000), () => response.destroy());
    };
    const { result, paths } = await fetchFrom({
      '/left-pad/-/left-pad-1.3.0.tgz': inTurn(breaks, (_, response) => void response.destroy(), bytes(tarball)),
    });
    expect(Buffer.from(await result).equals(tarball)).toBe(true);
    expect(paths()).toHaveLength(4);
  });

  it('is given up after three attempts, by its name, without what it said', async () => {
    const { result, paths, url } = await fetchFrom({ '/left-pad/1.3.0': status(502) });
    const error = await failure(result);
    expect(error).toMatchObject({ code: 'REGISTRY_UNAVAILABLE', message: expect.stringContaining('502') });
    expect(error.message).toContain(new URL(url).origin);
    expect(error.message).not.toContain('canary');
    expect(paths()).toHaveLength(3);
  });

  it('may ask for a pause, but not for a long one', async () => {
    // Ready only after a time that the usual pauses do not bridge.
    let ready = false;
    const busy: Handler = (request, response) => {
      setTimeout(() => {
        ready = true;
      }, 500);
      (ready ? json(metadata()) : status(503, { 'retry-after': '1' }))(request, response);
    };
    expect((await (await fetchFrom({ '/left-pad/1.3.0': busy })).result).byteLength).toBe(tarball.byteLength);
    cacheDir = join(home, 'other');
    for (const after of ['3600', new Date(Date.now() + 3600_000).toUTCString()]) {
      const long = await fetchFrom({ '/left-pad/1.3.0': status(503, { 'retry-after': after }) });
      expect(await failure(long.result)).toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
      expect(long.paths()).toHaveLength(1);
    }
  });

  it.each([400, 401, 403, 418])('is not asked again after a %i', async (code) => {
    const { result, paths } = await fetchFrom({ '/left-pad/1.3.0': status(code) });
    const error = await failure(result);
    expect(error).toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
    expect(paths()).toHaveLength(1);
    if (code === 401) expect(error.hint).toContain('npm login');
  });

  it.each<[string, Handler]>([
    ['says nothing', () => {}],
    ['stops in the middle', (_, response) => void response.writeHead(200).write('{"name":')],
    ['stops in the middle of an error', (_, response) => void response.writeHead(500).write('{"error":')],
  ])('is given up when it %s', async (_, hang) => {
    const { result, paths } = await fetchFrom({ '/left-pad/1.3.0': hang }, { limits: { idleMs: 200 } });
    expect(await failure(result)).toMatchObject({
      code: 'REGISTRY_UNAVAILABLE',
      message: expect.stringContaining('silent'),
    });
    expect(paths()).toHaveLength(3);
  });

  it('is given up when it drips for longer than a file may take', async () => {
    const drip: Handler = (_, response) => {
      const timer = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
    };
    const { result } = await fetchFrom({ '/left-pad/1.3.0': drip }, { limits: { totalMs: 500 } });
    expect(await failure(result)).toMatchObject({
      code: 'REGISTRY_UNAVAILABLE',
      message: expect.stringContaining('longer than 500 ms'),
    });
  });

  it.each([
    ['no JSON', bytes(Buffer.from('<html>'))],
    ['not UTF-8', bytes(Buffer.from([0x22, 0xff, 0x22]))],
    ['a number', bytes(Buffer.from('1'))],
  ])('is named when its metadata is %s', async (_, handler) => {
    expect(await failure((await fetchFrom({ '/left-pad/1.3.0': handler })).result)).toMatchObject({
      code: 'REGISTRY_UNAVAILABLE',
    });
  });

  it('is named when nobody listens', async () => {
    const { url } = await registry({});
    await new Promise((resolve) => servers[0]?.close(resolve));
    expect(await failure(sourceOf(url).tarball(wanted))).toMatchObject({
      code: 'REGISTRY_UNAVAILABLE',
      message: expect.stringContaining('ECONNREFUSED'),
    });
  });
});

describe('sizes', () => {
  const limits = { responseBytes: 300_000 };
  let sentBytes = 0;
  const endless =
    (code: number): Handler =>
    (_, response) => {
      sentBytes = 0;
      response.writeHead(code);
      const more = (): void => {
        for (let room = true; room && !response.destroyed; sentBytes += 64 * 1024)
          room = response.write(Buffer.alloc(64 * 1024));
      };
      response.on('drain', more);
      more();
    };

  it('up to the limit are taken, and an answer without end is broken off', async () => {
    expect((await (await fetchFrom({}, { limits })).result).byteLength).toBe(tarball.byteLength);
    cacheDir = join(home, 'other');
    const { result } = await fetchFrom({ '/left-pad/-/left-pad-1.3.0.tgz': endless(200) }, { limits });
    expect(await failure(result)).toMatchObject({
      code: 'DEPENDENCY_REFUSED',
      message: expect.stringContaining('left-pad@1.3.0'),
    });
  });

  it('are counted unpacked: a small answer that becomes a large one is broken off', async () => {
    const bomb: Handler = (_, response) =>
      response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(50_000_000)));
    expect(await failure((await fetchFrom({ '/left-pad/1.3.0': bomb }, { limits })).result)).toMatchObject({
      code: 'DEPENDENCY_REFUSED',
    });
  });

  it('are bounded where a packed answer never ends', async () => {
    const packed = gzipSync(Buffer.alloc(50_000_000));
    const open: Handler = (_, response) => {
      response.setHeader('content-encoding', 'gzip').write(packed.subarray(0, packed.length / 2));
    };
    const { result } = await fetchFrom({ '/left-pad/1.3.0': open }, { limits });
    expect(await failure(result)).toMatchObject({ code: 'DEPENDENCY_REFUSED' });
  });

  it('of error answers are bounded too, and they are not unpacked', async () => {
    expect(await failure((await fetchFrom({ '/left-pad/1.3.0': endless(400) }, { limits })).result)).toMatchObject({
      code: 'REGISTRY_UNAVAILABLE',
      message: expect.stringContaining('400'),
    });
    // What lies in the buffers of the sockets is not read.
    expect(sentBytes).toBeLessThan(20_000_000);
    // Made and kept by the test, so that what it takes itself is in both readings.
    const unpacked = Buffer.alloc(200_000_000);
    const packed = gzipSync(unpacked);
    const bomb: Handler = (_, response) => response.writeHead(400, { 'content-encoding': 'gzip' }).end(packed);
    const before = process.memoryUsage().rss;
    expect(await failure((await fetchFrom({ '/left-pad/1.3.0': bomb }, { limits })).result)).toMatchObject({
      code: 'REGISTRY_UNAVAILABLE',
    });
    expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
    expect(unpacked.length).toBeGreaterThan(0);
  });
});

describe('redirects', () => {
  it('are followed within the registry, also with a packed body', async () => {
    const body = gzipSync('moved');
    const moved: Handler = (_, response) =>
      response.writeHead(302, { location: '/moved', 'content-encoding': 'gzip' }).end(body);
    const { result, paths } = await fetchFrom({ '/left-pad/-/left-pad-1.3.0.tgz': moved, '/moved': bytes(tarball) });
    expect((await result).byteLength).toBe(tarball.byteLength);
    expect(paths()).toContain('/moved');
  });

  it.each(['/left-pad/1.3.0', '/left-pad/-/left-pad-1.3.0.tgz'])(
    'of %s to another port are refused, and nobody is asked there',
    async (path) => {
      const elsewhere = await registry({ '/x': json(metadata()) });
      writeFileSync(join(home, '.npmrc'), `//127.0.0.1/:_authToken=canary\n`);
      const { result } = await fetchFrom({ [path]: status(302, { location: `${elsewhere.url}x` }) });
      expect(await failure(result)).toMatchObject({
        code: 'REGISTRY_UNAVAILABLE',
        message: expect.stringContaining('another origin'),
      });
      expect(elsewhere.seen).toEqual([]);
    },
  );

  it('leave no connection behind when they are refused', async () => {
    const closed = Promise.withResolvers<void>();
    const open: Handler = (_, response) => {
      response.on('close', closed.resolve).writeHead(302, { location: 'http://elsewhere.test/' }).write('more to come');
    };
    const { result } = await fetchFrom({ '/left-pad/1.3.0': open }, { limits: { totalMs: 3_600_000 } });
    expect(await failure(result)).toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
    await closed.promise;
  });

  it('end when they go round in circles', async () => {
    const { result, paths } = await fetchFrom({ '/left-pad/1.3.0': status(301, { location: '/left-pad/1.3.0' }) });
    expect(await failure(result)).toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
    expect(paths().length).toBeLessThan(100);
  });
});

describe('credentials', () => {
  it('of npm go to the registry that they are for, and into no error', async () => {
    const { url, seen } = await registry({ '/left-pad/1.3.0': status(403) });
    writeFileSync(join(home, '.npmrc'), `${url.slice('http:'.length)}:_authToken=canary-token\n`);
    const error = await failure(sourceOf(url).tarball(wanted));
    expect(seen.map(({ authorization }) => authorization)).toEqual(['Bearer canary-token']);
    expect(JSON.stringify([error, error.message, error.hint, error.stack, error.cause])).not.toContain('canary-token');
    const other = await registry(sound);
    await sourceOf(other.url).tarball(wanted);
    expect(other.seen.map(({ authorization }) => authorization)).toEqual([undefined, undefined]);
  });

  it('in the registry’s URL are used, and are in no error and not in the cache', async () => {
    const { url, seen } = await registry(sound);
    const withPassword = url.replace('//', '//user:canary-password@');
    await sourceOf(withPassword).tarball(wanted);
    expect(seen.map(({ authorization }) => authorization)).toEqual(
      Array(2).fill(`Basic ${btoa('user:canary-password')}`),
    );
    const files = readdirSync(join(cacheDir, 'index-v5'), { recursive: true, withFileTypes: true }).filter((entry) =>
      entry.isFile(),
    );
    expect(files.length).toBeGreaterThan(0);
    for (const { parentPath, name } of files)
      expect(readFileSync(join(parentPath, name), 'utf8')).not.toContain('canary');
    await new Promise((resolve) => servers[0]?.close(resolve));
    servers[0]?.closeAllConnections();
    const error = await failure(sourceOf(withPassword).tarball({ ...wanted, version: '9.9.9' }));
    expect(error.code).toBe('REGISTRY_UNAVAILABLE');
    expect(JSON.stringify([error, error.message, error.hint, error.stack, error.cause])).not.toContain('canary');
  });
});

describe('the way there', () => {
  it('goes through the configured proxy', async () => {
    const target = await registry(sound);
    const proxied: string[] = [];
    const proxy = createHttpServer().on('connect', (request, socket) => {
      proxied.push(request.url ?? '');
      const [host, port] = (request.url ?? '').split(':');
      const upstream = connect(Number(port), host ?? '', () => {
        socket.write('HTTP/1.1 200 Yes\r\n\r\n');
        socket.pipe(upstream).pipe(socket);
      });
      // A tunnel is no connection of the server any more: it ends with the other one.
      upstream.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    });
    servers.push(proxy);
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const { port } = proxy.address() as AddressInfo;
    const env = { HOME: home, npm_config_registry: target.url, npm_config_proxy: `http://127.0.0.1:${port}` };
    expect((await sourceOf(target.url, { env }).tarball(wanted)).byteLength).toBe(tarball.byteLength);
    expect(new Set(proxied)).toEqual(new Set([new URL(target.url).host]));
    expect(target.paths()).toHaveLength(2);
  });

  it('needs a certificate of a known authority: that of the option, of the environment, or of npm', async () => {
    const key = join(home, 'key.pem');
    const cert = join(home, 'cert.pem');
    const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
    execFileSync(
      'openssl',
      ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-keyout', key, '-out', cert, ...subject],
      { stdio: 'ignore' },
    );
    const { url } = await registry(sound, { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') });
    const error = await failure(sourceOf(url).tarball(wanted));
    expect(error).toMatchObject({ code: 'REGISTRY_UNAVAILABLE', message: expect.stringContaining('CERT') });
    const env = { HOME: home, npm_config_registry: url };
    const ways: Partial<PackageSourceOptions>[] = [
      { caFile: cert },
      { env: { ...env, NODE_EXTRA_CA_CERTS: cert } },
      { env: { ...env, npm_config_cafile: cert } },
    ];
    for (const [i, way] of ways.entries()) {
      expect((await sourceOf(url, { ...way, cacheDir: join(home, `way${i}`) }).tarball(wanted)).byteLength).toBe(
        tarball.byteLength,
      );
    }
    const lax = sourceOf(url, { env: { ...env, npm_config_strict_ssl: 'false' } });
    expect(await failure(lax.tarball(wanted))).toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
  });
});

it('fetches a real package from the registry that this machine is configured with', async () => {
  const source = createPackageSource({
    cacheDir,
    ...(process.env.GLOVEBOX_EXTRA_CA === undefined ? {} : { caFile: process.env.GLOVEBOX_EXTRA_CA }),
  });
  const isNumber = {
    name: 'is-number',
    version: '7.0.0',
    integrity: 'sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng==',
  };
  expect((await source.tarball(isNumber)).byteLength).toBeGreaterThan(1000);
});
