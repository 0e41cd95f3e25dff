import { type Draft, formatReference, GloveboxError, type Release } from '@glovebox/contract';
import { checkpointAudit } from '../audit/checkpoint-audit.ts';
import type { Engine } from '../engine.ts';
import type { DraftRecord, PassedValidation } from '../ports.ts';
import { attestRelease } from './attest-release.ts';
import type { ReleaseRecords } from './change-release.ts';
import { refuseRevoked } from './resolve-release.ts';
import { loadTrusted } from './trusted-artifact.ts';

/** The parts of an engine that publishing takes. */
export type ReleasePublishing = ReleaseRecords & Pick<Engine, 'drafts' | 'artifacts'>;

export interface PublishRequest {
  project: string;
  id: string;
  /** What the caller means to publish; whatever has passed where left out. */
  revision?: string;
  actor: string;
}

export interface Published {
  release: Release;
  /** False when the same digest was released under that version before. */
  created: boolean;
}

/**
 * Make a release of a draft that has passed. The artifact is loaded and its attestations are verified first; then a
 * statement that binds name, artifact, image and permissions is signed and stored with it; then comes the one
 * transaction that makes the release; last, the artifact gets its name in the layout. What a crash leaves is one
 * statement more, which names what the next try releases, or a release without that name, which the next try gives it.
 *
 * @throws GloveboxError `NOT_FOUND`, `DRAFT_STALE`, `DRAFT_BUSY`, `NOT_VALIDATED`, `VERSION_EXISTS`, `RELEASE_REVOKED` and
 *   as loadTrusted does, with nothing released; once it is released, `AUDIT_BROKEN` where the audit chain could not be
 *   signed.
 */
export async function publishRelease(engine: ReleasePublishing, request: PublishRequest): Promise<Published> {
  const { project, id, actor } = request;
  const { draft, passed } = requirePassed(await engine.drafts.get(project, id), request);
  const { version, revision } = draft;
  const ref = formatReference({ project, id, version });
  const existing = await engine.releases.find(project, id, { version });
  if (existing === undefined) {
    const artifact = await loadTrusted(engine, { project, id, version, revision, ...passed });
    await attestRelease(engine, artifact, { ref, image: passed.image, publishedBy: actor });
  } else refuseOther(existing, passed);
  const atMs = engine.now();
  const outcome = await engine.releases.publish(
    { project, id, revision, passed, publishedBy: actor, atMs },
    { atMs, actor, project, action: 'release.published', subject: ref, details: { revision, ...passed } },
  );
  switch (outcome.kind) {
    case 'published':
    case 'unchanged':
      refuseRevoked(outcome.release);
      // Also when nothing changed: the process that published it may have died before it signed.
      await checkpointAudit(engine);
      // For people with an OCI tool, who take what has the name for released; nothing is looked up by it, so that it is released
      // without it too, and the next try gives it.
      await engine.artifacts.name(outcome.release.digest, ref).catch(() => undefined);
      return { release: outcome.release, created: outcome.kind === 'published' };
    case 'version-exists':
      throw versionExists(outcome.release);
    case 'not-passed':
      throw notValidated(project, id);
    case 'stale':
      throw stale(project, id);
    case 'absent':
      throw absent(project, id);
  }
}

function requirePassed(
  record: DraftRecord | undefined,
  { project, id, revision }: PublishRequest,
): { draft: Draft; passed: PassedValidation } {
  if (record === undefined) throw absent(project, id);
  const { draft, passed } = record;
  if (revision !== undefined && revision !== draft.revision) throw stale(project, id);
  if (draft.state === 'validating') throw new GloveboxError('DRAFT_BUSY');
  if (passed === null || (draft.state !== 'passed' && draft.state !== 'released')) throw notValidated(project, id);
  return { draft, passed };
}

function refuseOther(existing: Release, passed: PassedValidation): void {
  if (existing.digest !== passed.artifact) throw versionExists(existing);
  refuseRevoked(existing);
}

const absent = (project: string, id: string): GloveboxError =>
  new GloveboxError('NOT_FOUND', {
    message: `There is no draft ${project}/${id}.`,
    hint: 'Run glovebox node validate.',
  });

const stale = (project: string, id: string): GloveboxError =>
  new GloveboxError('DRAFT_STALE', { message: `The draft ${project}/${id} is at another revision by now.` });

const notValidated = (project: string, id: string): GloveboxError =>
  new GloveboxError('NOT_VALIDATED', { message: `The draft ${project}/${id} has not passed validation.` });

const versionExists = ({ ref, digest }: Release): GloveboxError =>
  new GloveboxError('VERSION_EXISTS', {
    message: `${ref} is released with another content.`,
    details: { ref, digest },
  });
