import type { Manifest } from '@glovebox/contract';
import type { StaticFinding } from './findings.ts';
import type { Platform } from './lockfile/platform.ts';

/** A node package, read from one snapshot of bytes. */
export interface NodePackage {
  manifest: Manifest;
  name: string;
  version: string;
  license: string;
  /** Path in the package, with `/`, to its bytes; sorted by path. */
  files: ReadonlyMap<string, Uint8Array>;
  /** sha256 of the canonical file list. */
  revision: string;
  /** What the bundle may be made of. */
  dependencies: LockedPackage[];
  /** What types and tests may use beyond that. The toolchain's own packages are not among them. */
  devDependencies: LockedPackage[];
}

export interface LockedPackage {
  /** Where it goes, such as `node_modules/a/node_modules/b`. */
  path: string;
  name: string;
  version: string;
  /** Subresource Integrity: one sha512 hash. */
  integrity: string;
}

/** What a draft is registered under. It can be told although much else is wrong. */
export interface Identity {
  id: string;
  version: string;
  title: string;
}

/**
 * `warnings` never stand in the way, notices among them; `findings` hold at least one error, and every other one that could
 * be told. `identity` is undefined when id or version cannot be read, `manifest` when it has errors of its own.
 */
export type ReadResult =
  | { ok: true; pkg: NodePackage; warnings: StaticFinding[] }
  | { ok: false; findings: StaticFinding[]; identity: Identity | undefined; manifest: Manifest | undefined };

/** The files of a package, sorted by the bytes of their paths; or why they are none. */
export type SnapshotResult =
  | { ok: true; files: ReadonlyMap<string, Uint8Array>; warnings: StaticFinding[] }
  | { ok: false; findings: StaticFinding[] };

export interface ReadOptions {
  /** Base URLs, without a slash at the end, whose archives a lockfile may name; none where left out. Nothing is fetched here. */
  registries?: readonly string[];
  /** What the dependencies are for. The cell's own platform where left out. */
  platform?: Platform;
  /**
   * A `release` needs more than a trial (which is what is meant where left out): a fixture, exact versions of its
   * dependencies, and a version that a reference can name.
   */
  purpose?: 'trial' | 'release';
}

/**
 * Read the files of a node package from a directory, as one snapshot: what is checked later is what was read here, whatever
 * happens to the directory meanwhile. Time and memory are bounded by packageLimits, whatever the directory holds.
 */
export async function readSnapshotDir(dir: string): Promise<SnapshotResult> {
  return (await import('./package/read.ts')).readSnapshotDir(dir);
}

/** Take files that were sent, by path and bytes: held to the rules that a directory is held to, and to no link or device. */
export async function gatherSnapshot(
  entries: Iterable<readonly [path: string, bytes: Uint8Array]>,
): Promise<SnapshotResult> {
  return (await import('./package/snapshot.ts')).gatherSnapshot(entries);
}

/**
 * Check everything about a node package that can be told without running or compiling a byte of it: its package.json, the
 * lockfile, node.json. The author's schemas and sources are only read. All findings come at once.
 */
export async function readPackageFiles(
  files: ReadonlyMap<string, Uint8Array>,
  options: ReadOptions = {},
): Promise<ReadResult> {
  return (await import('./package/read.ts')).readPackageFiles(files, options);
}

/** Both in one: the findings about the directory and about what is in its files. */
export async function readNodePackage(dir: string, options: ReadOptions = {}): Promise<ReadResult> {
  // The schemas behind it take longer to load than most packages take to read; who only opens a judge needs none.
  return (await import('./package/read.ts')).readNodePackage(dir, options);
}
