import { GloveboxError } from '@glovebox/contract';
import { expect, it } from 'vitest';
import type { LockedPackage, PackageSource } from '../ports.ts';
import { packageAges } from './package-ages.ts';

const hourMs = 3_600_000;
const nowMs = Date.UTC(2026, 10, 30, 12);
const minimum = { minimumAgeMs: 7 * 24 * hourMs, nowMs };

const locked = (name: string, path = `node_modules/${name}`): LockedPackage => ({
  path,
  name,
  version: '1.0.0',
  integrity: `sha512-${name}`,
});
const pkg = {
  files: new Map([
    [
      'package-lock.json',
      Buffer.from('{"packages":{\n"node_modules/a":{},\n"node_modules/b":{},\n"node_modules/d":{}}}'),
    ],
  ]),
  dependencies: [locked('a'), locked('b'), locked('a', 'node_modules/b/node_modules/a')],
  devDependencies: [locked('d')],
};

/** A registry that tells these times, or fails in this way. */
const source = (times: { [name: string]: number | GloveboxError | undefined }) => {
  const asked: string[] = [];
  const publishedAt: PackageSource['publishedAt'] = async ({ name }) => {
    asked.push(name);
    const time = times[name];
    if (time instanceof GloveboxError) throw time;
    return time;
  };
  return { asked, publishedAt, registries: () => [], tarball: () => expect.fail('was fetched') };
};
const told = async (times: Parameters<typeof source>[0], of = minimum): Promise<string[]> => {
  const { findings } = await packageAges(pkg, source(times), of, undefined);
  return findings.map(({ rule, place }) => `${rule} ${place.path} ${place.line}`).sort();
};
const old = nowMs - 30 * 24 * hourMs;

it('of old packages are known, by place, each asked for once', async () => {
  const registry = source({ a: old, b: nowMs - minimum.minimumAgeMs, d: old });
  const { publishedAtMs, findings } = await packageAges(pkg, registry, minimum, undefined);
  expect(findings).toEqual([]);
  expect(registry.asked.sort()).toEqual(['a', 'b', 'd']);
  expect([...publishedAtMs.keys()].sort()).toEqual([
    'node_modules/a',
    'node_modules/b',
    'node_modules/b/node_modules/a',
    'node_modules/d',
  ]);
});

it('under the minimum, unknown or from the future are told at each entry, those for development too', async () => {
  const nested = 'DEPENDENCY_TOO_FRESH /packages/node_modules~1b~1node_modules~1a';
  expect(await told({ a: nowMs - 2 * hourMs, b: old, d: old })).toEqual([
    'DEPENDENCY_TOO_FRESH /packages/node_modules~1a 2',
    expect.stringContaining(nested),
  ]);
  expect(await told({ a: old, b: undefined, d: nowMs + 365 * 24 * hourMs })).toEqual([
    'DEPENDENCY_TOO_FRESH /packages/node_modules~1b 3',
    'DEPENDENCY_TOO_FRESH /packages/node_modules~1d 4',
  ]);
  expect(await told({ a: old, b: nowMs - minimum.minimumAgeMs + 1, d: old })).toHaveLength(1);
  expect(await told({ a: old, b: nowMs - minimum.minimumAgeMs + 1, d: old }, { ...minimum, nowMs: nowMs + 1 })).toEqual(
    [],
  );
});

it('are told with the age, the minimum and when to try again', async () => {
  const { findings } = await packageAges(pkg, source({ a: old, b: old, d: nowMs - 2 * hourMs }), minimum, undefined);
  expect(findings).toMatchObject([
    {
      severity: 'error',
      message: 'd@1.0.0 has been in the registry for 2 h; this host demands 7 days.',
      hint: 'Wait until 2026-12-07T10:00:00.000Z, or pin an older version.',
    },
  ]);
});

it('are told beside what else is wrong with a package, but not where the registry does not answer or all is stopped', async () => {
  const integrity = new GloveboxError('DEPENDENCY_INTEGRITY');
  expect(await told({ a: old, b: integrity, d: nowMs })).toEqual([
    'DEPENDENCY_INTEGRITY /packages/node_modules~1b 3',
    'DEPENDENCY_TOO_FRESH /packages/node_modules~1d 4',
  ]);
  for (const code of ['REGISTRY_UNAVAILABLE', 'INTERRUPTED'] as const)
    await expect(told({ a: nowMs, b: integrity, d: new GloveboxError(code) })).rejects.toMatchObject({ code });
});
