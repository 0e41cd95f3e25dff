import { type Digest, type Finding, fromFindings, GloveboxError, packageRevision } from '@glovebox/contract';
import { buildOptionsDigest, cellLayout } from './bundle/build-options.ts';
import { bundleNode } from './bundle/bundle-node.ts';
import { restoreDependencies } from './bundle/restore-dependencies.ts';
import type { Engine } from './engine.ts';
import type { NodePackage } from './ports.ts';
import { sha256 } from './sha256.ts';

export interface BuiltNode {
  bundle: Uint8Array;
  bundleDigest: string;
  sourceMap: Uint8Array;
  warnings: Finding[];
  /** Whether it came from the cache. */
  cached: boolean;
}

/** Part of every cache key: it changes when the same inputs would give another bundle. */
const recipe = buildOptionsDigest(cellLayout);

/**
 * The bundle of a node package: from the cache when the same bytes were bundled by the same builder image before, else
 * made in a builder cell.
 *
 * @throws GloveboxError `BUILD_FAILED` with the findings as details, and as restoring and bundling do.
 */
export async function buildNode(
  engine: Engine,
  pkg: NodePackage,
  events: { onStep?: (step: 'restore' | 'bundle', detail?: string) => void } = {},
  signal?: AbortSignal,
): Promise<BuiltNode> {
  const image = await engine.images.current('builder');
  const key = bundleKey(pkg, image.digest);
  const cached = await engine.bundles.get(key);
  if (cached) return { ...cached, bundleDigest: sha256(cached.bundle), cached: true };
  if (pkg.dependencies.length > 0) events.onStep?.('restore', `${pkg.dependencies.length} packages`);
  const tarballs = await restoreDependencies(pkg.dependencies, engine.packages, signal === undefined ? {} : { signal });
  events.onStep?.('bundle');
  const built = await bundleNode(
    { pkg: bundledPart(pkg), tarballs },
    {
      driver: engine.driver,
      cellClass: engine.cellClass,
      image: image.digest as Digest,
      ...(signal ? { signal } : {}),
    },
  );
  if (!built.ok) {
    throw new GloveboxError('BUILD_FAILED', {
      ...fromFindings(built.findings),
      ...(built.findings.length > 1
        ? { message: `The bundle could not be made: ${built.findings.length} findings.` }
        : {}),
    });
  }
  const { bundle, bundleDigest, sourceMap, metafile, warnings } = built;
  await engine.bundles.put(key, { bundle, sourceMap, metafile, warnings });
  return { bundle, bundleDigest, sourceMap, warnings, cached: false };
}

/**
 * What a bundle can be made of: everything but tests and fixtures. A release cannot hold code that was never meant to run,
 * and a change of a test is no change of the bundle.
 */
export function bundledPart(pkg: NodePackage): Pick<NodePackage, 'files' | 'dependencies'> {
  const files = new Map([...pkg.files].filter(([path]) => !/^(?:test|fixtures)\//.test(path)));
  return { files, dependencies: pkg.dependencies };
}

/** Everything that decides the bundle's bytes: the files, the locked dependencies, the builder and how it is called. */
export function bundleKey(pkg: NodePackage, image: string): string {
  const { files, dependencies } = bundledPart(pkg);
  const locked = dependencies.map(({ path, name, version, integrity }) => [path, name, version, integrity]);
  return sha256(JSON.stringify([recipe, image, packageRevision(files), locked])).slice('sha256:'.length);
}
