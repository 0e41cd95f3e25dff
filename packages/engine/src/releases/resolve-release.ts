import { formatReference, GloveboxError, parseReference, type Reference, type Release } from '@glovebox/contract';
import type { ReleaseStore } from '../ports.ts';

/**
 * The release that a reference names, whatever its state. Without version or digest: the newest that is not revoked, or the
 * newest of all where every one is.
 *
 * A caller is let into one project; the text of a reference must not lead it into another, so one that names another
 * project finds nothing.
 *
 * @param project that the caller works in.
 * @throws GloveboxError `REFERENCE_INVALID`, `NOT_FOUND`.
 */
export async function resolveRelease(releases: ReleaseStore, project: string, referenceText: string): Promise<Release> {
  const reference = readReference(project, referenceText);
  const release = await find(releases, project, reference);
  if (release !== undefined) return release;
  throw new GloveboxError('NOT_FOUND', {
    message: `There is no release ${nameOf(project, reference)}.`,
    hint: 'See glovebox node list.',
  });
}

/**
 * The same for what changes a release. It takes no reference that means another release tomorrow: revoking `id` twice
 * would revoke two.
 *
 * @throws GloveboxError `REFERENCE_INVALID`, `NOT_FOUND`.
 */
export async function resolveExactRelease(
  releases: ReleaseStore,
  project: string,
  referenceText: string,
): Promise<Release> {
  if (readReference(project, referenceText).select.kind === 'newest') {
    throw new GloveboxError('REFERENCE_INVALID', {
      message: `${referenceText} names no release: it has neither version nor digest.`,
      hint: 'Write [project/]id@1.2.3 or [project/]id@sha256:….',
    });
  }
  return resolveRelease(releases, project, referenceText);
}

/** @throws GloveboxError `RELEASE_REVOKED` with the reason. */
export function refuseRevoked({ ref, state, reason, changedAt }: Release): void {
  if (state !== 'revoked') return;
  throw new GloveboxError('RELEASE_REVOKED', {
    message: `${ref} is revoked: ${reason ?? 'no reason is recorded'}`,
    details: { ref, reason, revokedAt: changedAt },
  });
}

function readReference(project: string, text: string): Reference {
  const reference = parseReference(text);
  // What is no reference can be any bytes, and is not repeated.
  if (reference === undefined) throw new GloveboxError('REFERENCE_INVALID');
  if (reference.project !== undefined && reference.project !== project) {
    throw new GloveboxError('NOT_FOUND', {
      message: `${text} is not of project ${project}.`,
      hint: `Name the project that you work in: --project ${reference.project}.`,
    });
  }
  return reference;
}

async function find(releases: ReleaseStore, project: string, { id, select }: Reference): Promise<Release | undefined> {
  switch (select.kind) {
    case 'version':
      return releases.find(project, id, { version: select.version });
    case 'digest':
      return releases.find(project, id, { digest: select.digest });
    case 'newest':
      return (await releases.find(project, id, 'newest')) ?? (await releases.list({ project, id, limit: 1 })).at(0);
  }
}

function nameOf(project: string, { id, select }: Reference): string {
  switch (select.kind) {
    case 'version':
      return formatReference({ project, id, version: select.version });
    case 'digest':
      return `${project}/${id}@${select.digest}`;
    case 'newest':
      return `of ${project}/${id}`;
  }
}
