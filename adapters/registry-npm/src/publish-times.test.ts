import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openRegistry, type Registry } from '../../../test/support/registry.ts';
import { createPackageSource } from './package-source.ts';
import { readPublishTime } from './publish-times.ts';

let registry: Registry;
let cacheDir: string;
beforeEach(async () => {
  cacheDir = mkdtempSync(join(tmpdir(), 'glovebox-times-'));
  registry = await openRegistry();
});
afterEach(async () => {
  await registry.close();
  rmSync(cacheDir, { recursive: true });
});

const published = '2026-11-30T18:00:00.123Z';
const publish = (name = 'left-pad', version = '1.3.0') => ({
  name,
  version,
  integrity: registry.publish(name, version, Buffer.from(`${name}@${version}`)),
});

describe('the publish time of a version', () => {
  it.each(['left-pad', '@scope/left-pad'])('is what the registry tells of it among all versions: %s', async (name) => {
    const wanted = publish(name);
    publish(name, '1.3.1');
    registry.tellTimes(name, {
      created: '2020-01-01T00:00:00.000Z',
      '1.3.0': published,
      '1.3.1': '2020-01-01T00:00:00Z',
    });
    expect(await registry.source(cacheDir).publishedAt(wanted)).toBe(Date.parse(published));
    expect(registry.requests).toEqual([`/${name}`]);
  });

  it('is asked for once, and then known without a request: of this registry and integrity alone', async () => {
    const wanted = publish();
    registry.tellTimes('left-pad', { '1.3.0': published });
    await registry.source(cacheDir).publishedAt(wanted);
    expect(await registry.source(cacheDir).publishedAt(wanted)).toBe(Date.parse(published));
    expect(registry.requests).toHaveLength(1);
    const other = `sha512-${Buffer.alloc(64).toString('base64')}`;
    await expect(registry.source(cacheDir).publishedAt({ ...wanted, integrity: other })).rejects.toMatchObject({
      code: 'DEPENDENCY_INTEGRITY',
    });
    const another = await openRegistry();
    try {
      expect(await another.source(cacheDir).publishedAt(wanted)).toBeUndefined();
      expect(another.requests).toHaveLength(1);
    } finally {
      await another.close();
    }
  });

  it('is not asked for by a fetch of the archive', async () => {
    await registry.source(cacheDir).tarball(publish());
    expect(registry.requests).toEqual(['/left-pad/1.3.0', '/left-pad/-/left-pad-1.3.0.tgz']);
  });

  it('is unknown where the registry tells none of this version, and asked for again', async () => {
    const wanted = publish();
    expect(await registry.source(cacheDir).publishedAt(wanted)).toBeUndefined();
    for (const times of [{}, { '1.3.0': 0 }, { '1.3.0': 'long ago' }, { modified: published }]) {
      registry.tellTimes('left-pad', times);
      expect(await registry.source(cacheDir).publishedAt(wanted)).toBeUndefined();
    }
    registry.tellTimes('left-pad', { '1.3.0': published });
    expect(await registry.source(cacheDir).publishedAt(wanted)).toBe(Date.parse(published));
  });

  it('of a version that is there no more is not believed', async () => {
    const { integrity } = publish();
    registry.tellTimes('left-pad', { '1.2.0': '2020-01-01T00:00:00.000Z' });
    const gone = { name: 'left-pad', version: '1.2.0', integrity };
    expect(await registry.source(cacheDir).publishedAt(gone)).toBeUndefined();
  });

  it('is refused in an answer over the limit, and not looked for by a name that is none', async () => {
    const wanted = publish();
    registry.tellTimes('left-pad', { '1.3.0': published, more: 'x'.repeat(10_000) });
    const env = { HOME: cacheDir, npm_config_registry: registry.url };
    const bounded = createPackageSource({ cacheDir, env, limits: { responseBytes: 5000 } });
    await expect(bounded.publishedAt(wanted)).rejects.toMatchObject({ code: 'DEPENDENCY_REFUSED' });
    const before = registry.requests.length;
    await expect(bounded.publishedAt({ ...wanted, name: '../x' })).rejects.toMatchObject({
      code: 'LOCKFILE_ENTRY_REFUSED',
    });
    await expect(bounded.publishedAt(wanted, AbortSignal.abort())).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect(registry.requests).toHaveLength(before);
  });
});

it('a time is a date in UTC that there is, and nothing else', () => {
  for (const text of [
    '2026-02-28T23:59:59Z',
    '2026-02-28T23:59:59.9Z',
    '2024-02-29T00:00:00.000Z',
    '2026-04-02T05:19:57.043000+00:00',
  ])
    expect(readPublishTime(text)).toBe(Date.parse(text));
  for (const wrong of [
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-01-01',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00:00+14:00',
    '2026-01-01T00:00:00-00:01',
    '2026-01-01T24:00:00Z',
    '+002026-01-01T00:00:00Z',
    ' 2026-01-01T00:00:00Z',
    'Thu, 01 Jan 2026 00:00:00 GMT',
    '',
    1_700_000_000_000,
    null,
    ['2026-01-01T00:00:00Z'],
  ])
    expect([wrong, readPublishTime(wrong)]).toEqual([wrong, undefined]);
});
