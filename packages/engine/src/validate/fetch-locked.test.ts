import { type ErrorCode, GloveboxError } from '@glovebox/contract';
import { expect, it } from 'vitest';
import type { LockedPackage, PackageSource } from '../ports.ts';
import { fetchLocked } from './fetch-locked.ts';

const locked = (name: string): LockedPackage => ({
  path: `node_modules/${name}`,
  name,
  version: '1.0.0',
  integrity: `sha512-${name}`,
});
const lockfile = '{\n "packages": {\n  "node_modules/a": {},\n  "node_modules/b": {},\n  "node_modules/d": {}\n }\n}';
const pkg = {
  files: new Map([['package-lock.json', new TextEncoder().encode(lockfile)]]),
  dependencies: [locked('a'), locked('b'), locked('c')],
  devDependencies: [locked('d')],
};

/** A registry that has every package, but for those that are named. */
const source = (broken: { [name: string]: ErrorCode }): PackageSource => ({
  registries: () => [],
  publishedAt: async () => undefined,
  tarball: async ({ name }) => {
    const code = broken[name];
    if (code !== undefined) throw new GloveboxError(code, { message: `${name} is broken` });
    return new TextEncoder().encode(name);
  },
});

it('gives the archives of everything that is locked, for the bundle and for development', async () => {
  const fetched = await fetchLocked(pkg, source({}), undefined);
  if (!fetched.ok) throw new Error('refused');
  expect(fetched.tarballs.map(({ path, bytes }) => [path, new TextDecoder().decode(bytes)])).toEqual(
    ['a', 'b', 'c', 'd'].map((name) => [`node_modules/${name}`, name]),
  );
});

it('tells of every package that is not there or is another, at its entry', async () => {
  const fetched = await fetchLocked(pkg, source({ b: 'DEPENDENCY_INTEGRITY', d: 'DEPENDENCY_NOT_FOUND' }), undefined);
  if (fetched.ok) throw new Error('fetched');
  expect(fetched.findings.map(({ rule, place }) => `${rule} ${place.path} ${place.line}`).sort()).toEqual([
    'DEPENDENCY_INTEGRITY /packages/node_modules~1b 4',
    'DEPENDENCY_NOT_FOUND /packages/node_modules~1d 5',
  ]);
});

it('knows nothing of the packages when the registry does not answer, whatever else is wrong', async () => {
  const down = source({ a: 'REGISTRY_UNAVAILABLE', b: 'DEPENDENCY_INTEGRITY' });
  await expect(fetchLocked(pkg, down, undefined)).rejects.toMatchObject({ code: 'REGISTRY_UNAVAILABLE' });
});

it('is stopped by its signal', async () => {
  await expect(fetchLocked(pkg, source({}), AbortSignal.abort())).rejects.toMatchObject({ code: 'INTERRUPTED' });
});
