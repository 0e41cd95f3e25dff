import { createHash } from 'node:crypto';
import { type Digest, type Finding, GloveboxError } from '@glovebox/contract';
import { buildOptionsDigest, cellLayout } from './bundle/build-options.ts';
import { bundleNode } from './bundle/bundle-node.ts';
import { restoreDependencies } from './bundle/restore-dependencies.ts';
import type { Engine } from './engine.ts';
import { fromFindings } from './finding-error.ts';
import type { NodePackage } from './ports.ts';

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
    { pkg, tarballs },
    { driver: engine.driver, image: image.digest as Digest, ...(signal ? { signal } : {}) },
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

/** Everything that decides the bundle's bytes: the package, the locked dependencies, the builder and how it is called. */
function bundleKey(pkg: NodePackage, image: string): string {
  const locked = pkg.dependencies.map(({ path, name, version, integrity }) => [path, name, version, integrity]);
  return sha256(JSON.stringify([recipe, image, pkg.revision, locked])).slice('sha256:'.length);
}

function sha256(content: string | Uint8Array): string {
  return `sha256:${createHash('sha256').update(content).digest('hex')}`;
}
