import type { FileRecord, Finding, InstanceId, Json, LogRecord } from '@glovebox/contract';
import type { Attempt, AttemptEnd, JournalEntry, RunRecord, RunSummary } from './records.ts';

/** Runs and their journal. Every method is one transaction; a transition that does not fit the state changes nothing. */
export interface RunStore {
  /**
   * Write a run in state QUEUED with its first attempt, and its journal entries.
   *
   * @throws GloveboxError `NOT_FOUND` or `RELEASE_REVOKED` where it is of a release that is not there, or revoked by now.
   */
  create(run: RunRecord, attempt: Attempt): Promise<void>;
  /** QUEUED → RUNNING. */
  begin(attemptId: string, startedAtMs: number): Promise<'begun' | 'stale'>;
  /** QUEUED or RUNNING → an end state, with everything that is known of the attempt. It is audited with its receipt's digest. */
  finish(attemptId: string, end: AttemptEnd): Promise<'finished' | 'stale'>;
  /** Attempts that are not ended and whose owner is dead become LOST, which is audited. @returns their ids. */
  markLost(isDead: (owner: Attempt['owner']) => boolean, atMs: number): Promise<string[]>;
  appendLogs(attemptId: string, records: LogRecord[]): Promise<void>;
  list(query: {
    project: string;
    limit: number;
    before?: string;
    node?: string;
    state?: string;
  }): Promise<RunSummary[]>;
  get(project: string, runId: string): Promise<{ run: RunRecord; attempts: Attempt[] } | undefined>;
  /** In order of arrival. `after` is the sequence number of the last record already read. */
  logs(attemptId: string, after?: number, limit?: number): Promise<(LogRecord & { seq: number })[]>;
  journal(runId: string): Promise<JournalEntry[]>;
}

/** Bytes by digest. */
export interface BlobStore {
  /** Store at most `maxBytes`; nothing is kept when the source is longer or fails. @throws GloveboxError `FILES_LIMIT`, `DISK_FULL`. */
  put(source: AsyncIterable<Uint8Array>, maxBytes: number): Promise<{ digest: string; sizeBytes: number }>;
  /** @throws GloveboxError `NOT_FOUND`, `BLOB_CORRUPTED` (checked as it streams). */
  read(digest: string): AsyncIterable<Uint8Array>;
}

export interface PackageRequest {
  name: string;
  version: string;
  /** Subresource Integrity, sha512. */
  integrity: string;
}

/** Package tarballs. The URL is computed from registry, name and version; nothing of a lockfile is followed. */
export interface PackageSource {
  /** Base URLs, without a slash at the end, whose archives a lockfile may name. @throws GloveboxError `REGISTRY_UNAVAILABLE`. */
  registries(): readonly string[];
  /**
   * The bytes, checked against the integrity that the registry's metadata and the lockfile agree on.
   * @throws GloveboxError `REGISTRY_UNAVAILABLE`, `DEPENDENCY_NOT_FOUND`, `DEPENDENCY_INTEGRITY`, and `INTERRUPTED` as soon as
   *   `signal` is aborted.
   */
  tarball(request: PackageRequest, signal?: AbortSignal): Promise<Uint8Array>;
  /**
   * When the registry says that it got this version, with this integrity. It is the registry's word.
   * @returns milliseconds since the epoch; undefined where the registry does not tell, which is never the same as long ago.
   * @throws GloveboxError `REGISTRY_UNAVAILABLE`, `DEPENDENCY_INTEGRITY`, `DEPENDENCY_REFUSED` when the answer is too long,
   *   and `INTERRUPTED` as soon as `signal` is aborted.
   */
  publishedAt(request: PackageRequest, signal?: AbortSignal): Promise<number | undefined>;
}

/** What this host demands of the packages that a node is locked to, beyond what holds everywhere. */
export interface PackagePolicy {
  /** How long a version must have been in the registry, in milliseconds, before a validation takes it; undefined asks nothing. */
  minimumAgeMs: number | undefined;
}

/** The images, unpacked on this machine. */
export interface ImageStore {
  /** An image that holds what its digest says, as far as the kernel tells. @throws GloveboxError `IMAGE_MISSING`. */
  current(kind: ImageKind): Promise<ImageInfo>;
  /** Build what is missing; with `force`, build and compare again. */
  build(options: { force?: boolean; onProgress?: (line: string) => void }): Promise<ImageInfo[]>;
  /** Compute the digest of the current image again from its files. @throws GloveboxError `IMAGE_MISSING`, `IMAGE_CORRUPTED`. */
  verify(kind: ImageKind): Promise<ImageInfo>;
}

export type ImageKind = 'runtime' | 'builder';

export interface ImageInfo {
  kind: ImageKind;
  /** sha256 of the image's config, which holds the digest of every layer: the image id. */
  digest: string;
  sizeBytes: number;
  createdAtMs: number;
  /** Name and version of what is in it, such as node, guest, esbuild. */
  contents: { [name: string]: string };
  rootfs: string;
}

/** What is kept of a build. */
export interface CachedBundle {
  bundle: Uint8Array;
  sourceMap: Uint8Array;
  metafile: Json;
  warnings: Finding[];
}

/** Bundles by a key of everything that decides them. It may forget anything at any time, and fails no build. */
export interface BundleCache {
  /** Undefined when it has none, or none that still matches its digests. */
  get(key: string): Promise<CachedBundle | undefined>;
  put(key: string, bundle: CachedBundle): Promise<void>;
}

/** Signs receipts with the instance's key. */
export interface ReceiptSigner {
  readonly instance: InstanceId;
  readonly keyId: string;
  sign(payload: Uint8Array): Promise<Uint8Array>;
}

export type { LockedPackage, NodePackage, OpenJudge, ReadResult, ValueJudge } from '@glovebox/validate';
export type * from './egress-ports.ts';
export type * from './release-ports.ts';
export type { FileRecord };
