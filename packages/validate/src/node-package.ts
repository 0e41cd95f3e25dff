import type { Finding, Manifest } from '@glovebox/contract';
import type { Platform } from './lockfile/platform.ts';

/** A node package as read from disk, in one snapshot of bytes. */
export interface NodePackage {
  manifest: Manifest;
  name: string;
  version: string;
  license: string;
  /** Path in the package, with `/`, to its bytes; sorted by path. */
  files: ReadonlyMap<string, Uint8Array>;
  /** sha256 of the canonical file list. */
  revision: string;
  dependencies: LockedPackage[];
}

export interface LockedPackage {
  /** Where it goes, such as `node_modules/a/node_modules/b`. */
  path: string;
  name: string;
  version: string;
  /** Subresource Integrity: one sha512 hash. */
  integrity: string;
}

/** `warnings` never stand in the way; `findings` hold at least one error, and every other one that could be told. */
export type ReadResult = { ok: true; pkg: NodePackage; warnings: Finding[] } | { ok: false; findings: Finding[] };

export interface ReadOptions {
  /** Base URLs, without a slash at the end, whose archives a lockfile may name; none where left out. Nothing is fetched here. */
  registries?: readonly string[];
  /** What the dependencies are for. The cell's own platform where left out. */
  platform?: Platform;
}

/**
 * Read a node package from a directory and check everything that can be told without running or compiling a byte of it:
 * its files, package.json, the lockfile, node.json. The author's schemas and sources are only read.
 *
 * The bytes are one snapshot: what is checked here is what is built later, whatever happens to the directory meanwhile.
 * All findings come at once. Time and memory are bounded by packageLimits, whatever the directory holds.
 */
export async function readNodePackage(dir: string, options: ReadOptions = {}): Promise<ReadResult> {
  // The schemas behind it take longer to load than most packages take to read; who only opens a judge needs none.
  return (await import('./package/read.ts')).readNodePackage(dir, options);
}
