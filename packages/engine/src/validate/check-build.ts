import type { CellDriver } from '@glovebox/cell';
import { type CellClass, type Digest, errorCatalogue, type Finding } from '@glovebox/contract';
import { bundledPart, bundleKey } from '../build-node.ts';
import { type Bundle, bundleNode } from '../bundle/bundle-node.ts';
import type { Tarball } from '../bundle/restore-dependencies.ts';
import type { BundleCache, CachedBundle, CheckCache, NodePackage } from '../ports.ts';
import { sha256 } from '../sha256.ts';
import type { CheckEnd } from './checklist.ts';
import { judged } from './outcome.ts';
import { buildVerdictKey, findVerdict } from './verdicts.ts';

/** A check of the build, and what it made when that has passed. */
export interface CheckedBuild {
  end: CheckEnd;
  built: (CachedBundle & { bundleDigest: string }) | undefined;
}

export interface BuildOptions {
  driver: CellDriver;
  cellClass: CellClass;
  /** Digest of the builder image. */
  image: Digest;
  bundles: BundleCache;
  signal?: AbortSignal;
}

/** What an earlier validation came to, where its bundle is still there and is the one that it built twice. */
export async function findBuild(
  caches: { checks: CheckCache; bundles: BundleCache },
  pkg: NodePackage,
  image: string,
): Promise<CheckedBuild | undefined> {
  const key = bundleKey(pkg, image);
  const end = await findVerdict(caches.checks, buildVerdictKey(pkg, image));
  const built = end === undefined ? undefined : await caches.bundles.get(key);
  if (end === undefined || built === undefined) return undefined;
  const bundleDigest = sha256(built.bundle);
  return end.facts.bundle === bundleDigest ? { end, built: { ...built, bundleDigest } } : undefined;
}

/**
 * Build a package twice, in two cells: what cannot be built again cannot be verified by anyone else. A bundle that an
 * earlier build of the same bytes left counts as the first.
 *
 * @throws GloveboxError as bundleNode does.
 */
export async function checkBuild(
  { pkg, tarballs }: { pkg: NodePackage; tarballs: readonly Tarball[] },
  { driver, cellClass, image, bundles, signal }: BuildOptions,
): Promise<CheckedBuild> {
  const key = bundleKey(pkg, image);
  const locked = new Set(pkg.dependencies.map(({ path }) => path));
  const request = { pkg: bundledPart(pkg), tarballs: tarballs.filter(({ path }) => locked.has(path)) };
  const build = () => bundleNode(request, { driver, cellClass, image, ...(signal === undefined ? {} : { signal }) });

  const known = await bundles.get(key);
  // Both are waited for, whatever the other comes to: no cell outlives the check.
  const [first, second] = await Promise.allSettled([
    known === undefined ? build() : { ok: true as const, ...known },
    build(),
  ]);
  if (first.status === 'rejected') throw first.reason;
  if (second.status === 'rejected') throw second.reason;
  if (!first.value.ok) return { end: judged(first.value.findings), built: undefined };
  if (!second.value.ok) return { end: judged(second.value.findings), built: undefined };

  const { bundle, sourceMap, metafile, warnings } = first.value;
  const bundleDigest = sha256(bundle);
  if (!same(first.value, second.value)) return { end: judged([notReproducible]), built: undefined };
  if (known === undefined) await bundles.put(key, { bundle, sourceMap, metafile, warnings });
  const facts = { bundle: bundleDigest, bundleBytes: bundle.byteLength, builds: 2 };
  return { end: judged(warnings, facts), built: { bundle, bundleDigest, sourceMap, metafile, warnings } };
}

type Built = Pick<Bundle, 'bundle' | 'sourceMap' | 'metafile'>;

function same(a: Built, b: Built): boolean {
  return (
    Buffer.compare(a.bundle, b.bundle) === 0 &&
    Buffer.compare(a.sourceMap, b.sourceMap) === 0 &&
    JSON.stringify(a.metafile) === JSON.stringify(b.metafile)
  );
}

const notReproducible: Finding = {
  rule: 'BUILD_NOT_REPRODUCIBLE',
  severity: 'error',
  message: 'two builds of the same bytes, in two cells, gave different bundles',
  hint: errorCatalogue.BUILD_NOT_REPRODUCIBLE.hint,
  place: {},
};
