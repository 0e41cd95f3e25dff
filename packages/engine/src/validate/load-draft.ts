import { decodeSnapshot } from '@glovebox/artifact';
import { artifactLimits, type Draft, GloveboxError, gatherBody, packageRevision } from '@glovebox/contract';
import type { BlobStore, DraftRecord } from '../ports.ts';

/**
 * The files of a draft, as they were registered: from the blob, whose bytes must be those of the revision.
 *
 * @throws GloveboxError `NOT_FOUND`, `BLOB_CORRUPTED`.
 */
export async function loadDraftFiles(
  blobs: BlobStore,
  { draft, snapshot }: Pick<DraftRecord, 'draft' | 'snapshot'>,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const bytes = await gatherBody(blobs.read(snapshot), artifactLimits.sourceBytes);
  const files = bytes === undefined ? undefined : decodeSnapshot(bytes);
  if (files === undefined || packageRevision(files) !== draft.revision) throw notOf(draft);
  return files;
}

const notOf = ({ project, id, revision }: Draft): GloveboxError =>
  new GloveboxError('BLOB_CORRUPTED', {
    message: `The stored files of ${project}/${id} are not those of ${revision}.`,
    hint: 'Validate the package again from its directory.',
  });
