import type { Finding, Manifest } from '@glovebox/contract';

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
