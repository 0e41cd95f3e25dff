import { encodeSnapshot } from '@glovebox/artifact';
import { artifactLimits, type Draft, fromFindings, GloveboxError, packageRevision } from '@glovebox/contract';
import { gatherSnapshot, readPackageFiles, type StaticFinding } from '@glovebox/validate';
import type { Engine } from '../engine.ts';
import { freeDraft } from './stuck-validations.ts';

/** The parts of an engine that registering takes. */
export type DraftRegistration = Pick<Engine, 'drafts' | 'blobs' | 'packages' | 'now'>;

export interface PutDraftRequest {
  project: string;
  /** What the caller takes it for; whatever its manifest says where left out. */
  id?: string;
  actor: string;
  /** The files of the package, by path from its root. */
  files: Iterable<readonly [path: string, bytes: Uint8Array]>;
}

export interface PutDraft {
  kind: 'created' | 'replaced' | 'unchanged';
  draft: Draft;
}

/**
 * Register the files of a node package as the draft of its id. The bytes are kept: whatever is checked and built later is
 * these. Much may be wrong with them, which is for a validation to tell, but they must be a set of plain files that say
 * what they are: an id and a version.
 *
 * @throws GloveboxError `PACKAGE_INVALID` with the findings as details, `DRAFT_BUSY` while another revision is being
 *   validated, `VERSION_EXISTS` when the version is released with another content, `DISK_FULL`. Nothing is changed then.
 */
export async function putDraft(engine: DraftRegistration, request: PutDraftRequest): Promise<PutDraft> {
  const { project, actor } = request;
  const snapshot = await gatherSnapshot(request.files);
  if (!snapshot.ok) throw invalid(snapshot.findings);
  const { files } = snapshot;
  const read = await readPackageFiles(files, { purpose: 'release', registries: engine.packages.registries() });
  const identity = read.ok
    ? { id: read.pkg.manifest.id, version: read.pkg.version, title: read.pkg.manifest.title }
    : read.identity;
  if (identity === undefined) throw invalid(read.ok ? [] : read.findings);

  const { id, version } = identity;
  if (request.id !== undefined && request.id !== id) throw otherNode(id, request.id);
  const revision = packageRevision(files);
  const stored = await engine.blobs.put(whole(encodeSnapshot(files)), artifactLimits.sourceBytes);
  const put = (): ReturnType<Engine['drafts']['put']> =>
    engine.drafts.put(
      { project, ...identity, revision, snapshot: stored.digest },
      {
        atMs: engine.now(),
        actor,
        project,
        action: 'draft.put',
        subject: `${project}/${id}`,
        details: { revision, version },
      },
    );
  let outcome = await put();
  if (outcome.kind === 'busy' && (await freeDraft(engine, { project, id }))) outcome = await put();
  switch (outcome.kind) {
    case 'busy':
      throw new GloveboxError('DRAFT_BUSY', { message: `Another revision of ${project}/${id} is being validated.` });
    case 'version-released':
      throw new GloveboxError('VERSION_EXISTS', {
        message: `${project}/${id}@${version} is released with another content.`,
      });
    default:
      return outcome;
  }
}

function invalid(findings: readonly StaticFinding[]): GloveboxError {
  return new GloveboxError('PACKAGE_INVALID', {
    ...fromFindings(findings),
    ...(findings.length > 1 ? { message: `This is no node package: ${findings.length} findings.` } : {}),
  });
}

const otherNode = (id: string, asked: string): GloveboxError =>
  new GloveboxError('PACKAGE_INVALID', {
    message: `The package is of the node ${id}, not ${asked}.`,
    hint: 'Send it as the draft of its own id.',
    place: { file: 'node.json', path: '/id' },
  });

async function* whole(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  yield bytes;
}
