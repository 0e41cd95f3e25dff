import type { LoadedArtifact } from '@glovebox/artifact';
import type { AuditCheckpoint, AuditEntry, AuditEvent, Draft, Release, Report } from '@glovebox/contract';
import type { OwnerRef } from './records.ts';

/**
 * Drafts and their life cycle. Every method is one transaction; a transition that does not fit the state changes nothing.
 * The event is appended to the audit chain in the same transaction, and only where something changed.
 */
export interface DraftStore {
  /**
   * Register a revision. `created` and `replaced` leave it in state draft, with no report and no artifact; `unchanged`: it is
   * there, in whatever state, and stays so. `version-released`: that version is released with another revision. `busy`: a
   * validation of another revision is going on.
   */
  put(
    draft: { project: string; id: string; revision: string; version: string; title: string; snapshot: string },
    event: AuditEvent,
  ): Promise<{ kind: 'created' | 'replaced' | 'unchanged'; draft: Draft } | { kind: 'busy' | 'version-released' }>;
  get(project: string, id: string): Promise<DraftRecord | undefined>;
  /** By id, ascending. */
  list(query: { project: string; limit: number; after?: string }): Promise<Draft[]>;
  /**
   * draft, passed or failed → validating. `busy`: another validation holds it. `stale`: it is at another revision.
   * `released`: the revision is released, and its report stands. `absent`: there is no such draft.
   */
  beginValidation(
    begin: { project: string; id: string; revision: string; validation: string; owner: OwnerRef; atMs: number },
    event: AuditEvent,
  ): Promise<'begun' | 'busy' | 'stale' | 'released' | 'absent'>;
  /**
   * validating → passed (with an artifact) or failed (without). `stale`: that validation does not hold the draft any more.
   * @returns the draft as this left it, whatever becomes of it at once.
   */
  endValidation(
    end: { validation: string; atMs: number; report: Report; result: PassedValidation | null },
    event: AuditEvent,
  ): Promise<{ kind: 'ended'; draft: Draft } | { kind: 'stale' }>;
  /** validating → draft, for whoever gave up before a verdict. @returns as endValidation does. */
  abandonValidation(
    validation: string,
    event: AuditEvent,
  ): Promise<{ kind: 'abandoned'; draft: Draft } | { kind: 'stale' }>;
  /** validating → draft, where the owner is dead by positive observation. @returns `project/id` of each. */
  recoverValidations(isDead: (owner: OwnerRef) => boolean, atMs: number): Promise<string[]>;
}

export interface DraftRecord {
  draft: Draft;
  /** Blob with the snapshot; see encodeSnapshot. */
  snapshot: string;
  report: Report | null;
  passed: PassedValidation | null;
}

/** What a passed validation leaves for a release. */
export interface PassedValidation {
  /** Digest of the artifact manifest. */
  artifact: string;
  /** Digest of the runtime image that fixtures ran in. */
  image: string;
  /** Digest of the canonical permissions. */
  permissions: string;
}

export interface ReleaseStore {
  /**
   * passed → released, and the release. `unchanged`: the same digest is released under that version, nothing is written.
   * `version-exists`: another digest is. `not-passed`: the draft is in another state; `stale`: at another revision, or what has
   * passed there is not what the caller has checked and signed; `absent`.
   */
  publish(
    publish: {
      project: string;
      id: string;
      revision: string;
      passed: PassedValidation;
      publishedBy: string;
      atMs: number;
    },
    event: AuditEvent,
  ): Promise<
    | { kind: 'published' | 'unchanged' | 'version-exists'; release: Release }
    | { kind: 'not-passed' | 'stale' | 'absent' }
  >;
  /** Newest: the highest version by semver that is not revoked, prereleases only where nothing else is there. */
  find(
    project: string,
    id: string,
    select: { version: string } | { digest: string } | 'newest',
  ): Promise<Release | undefined>;
  /** By id, then newest version first. */
  list(query: {
    project: string;
    limit: number;
    id?: string;
    after?: { id: string; version: string };
  }): Promise<Release[]>;
  /**
   * active → deprecated (with a reason; with another one, that is changed), or back to active (null); active or deprecated →
   * revoked, which is for good. Revoked again is `unchanged`, and the first reason stands.
   */
  setState(
    change: {
      project: string;
      id: string;
      version: string;
      state: 'active' | 'deprecated' | 'revoked';
      reason: string | null;
      atMs: number;
    },
    event: AuditEvent,
  ): Promise<{ kind: 'changed' | 'unchanged'; release: Release } | { kind: 'absent' | 'revoked' }>;
  /** The release runs in another image from now on. `stale`: it is not at `from` any more. */
  setImage(
    change: { project: string; id: string; version: string; from: string; to: string; atMs: number },
    event: AuditEvent,
  ): Promise<{ kind: 'changed'; release: Release } | { kind: 'stale' | 'revoked' | 'absent' }>;
}

/** The hash-chained record of what was done by whom. It has no method that changes or removes an entry. */
export interface AuditLog {
  /** Ascending by number. */
  list(query: {
    after?: number;
    limit: number;
    project?: string;
    action?: string;
    subject?: string;
  }): Promise<AuditEntry[]>;
  head(): Promise<{ seq: number; hash: string } | undefined>;
  checkpoints(): Promise<AuditCheckpoint[]>;
  /** An event that none of the transitions above brings about. */
  append(event: AuditEvent & { action: 'instance.created' | 'key.rotated' }): Promise<void>;
  /** The one over the highest number; of several over that, the one that was added last. */
  latestCheckpoint(): Promise<AuditCheckpoint | undefined>;
  /** The same one again changes nothing. @throws GloveboxError `AUDIT_BROKEN` where the chain has not that hash at that number. */
  addCheckpoint(checkpoint: AuditCheckpoint): Promise<void>;
}

/** Artifacts with their attestations: an OCI image layout. */
export interface ArtifactStore {
  /**
   * Write an artifact and its attestations, whole or not at all. The same digest again changes nothing but adds attestations.
   * @throws GloveboxError `DISK_FULL`, `ATTESTATIONS_LIMIT`.
   */
  put(artifact: StoredArtifact): Promise<void>;
  /**
   * Everything of it, each blob checked against its digest and size, the config against its schema.
   * @throws GloveboxError `NOT_FOUND`, `ARTIFACT_CORRUPTED`, `ARTIFACT_INVALID`.
   */
  load(digest: string): Promise<LoadedArtifact>;
  /** The DSSE envelopes that refer to it, as text, oldest first. */
  attestations(digest: string): Promise<string[]>;
  /** Add referrers to an artifact that is there. @throws GloveboxError `NOT_FOUND`, `DISK_FULL`, `ATTESTATIONS_LIMIT`. */
  attest(digest: string, envelopeTexts: readonly string[]): Promise<void>;
  /**
   * Give it a name for people and tools that read the layout; a name that another artifact has moves over. Nothing is looked
   * up by it here. @throws GloveboxError `NOT_FOUND`, `DISK_FULL`.
   */
  name(digest: string, refName: string): Promise<void>;
  /**
   * A tar of an OCI image layout with this artifact and its attestations, for another host.
   * @param refName what it is called in there; its digest where left out.
   * @throws GloveboxError as load does, before the first byte.
   */
  exportLayout(digest: string, refName?: string): AsyncIterable<Uint8Array>;
}

/** The bytes of an artifact; `manifest` is what its digest is the sha256 of. */
export interface StoredArtifact {
  digest: string;
  manifest: Uint8Array;
  /** Every blob that the manifest names, by digest. */
  blobs: ReadonlyMap<string, Uint8Array>;
  attestations: readonly string[];
}

export type { LoadedArtifact };

/** Verdicts of checks by a key of everything that decides them. It may forget anything at any time, and fails no validation. */
export interface CheckCache {
  get(key: string): Promise<string | undefined>;
  put(key: string, text: string): Promise<void>;
}
