import { checkAttestations, pinKeys, sha256Of, type VerifiedAttestation } from '@glovebox/artifact';
import { GloveboxError, type Release, type ReleasePredicate } from '@glovebox/contract';
import type { Engine } from '../engine.ts';
import type { LoadedArtifact } from '../ports.ts';
import { requireAudited } from './require-audited.ts';

/** What a record says of an artifact. */
export type ArtifactClaim = Pick<Release, 'project' | 'id' | 'version' | 'revision' | 'permissions'> & {
  artifact: string;
};

/** An artifact of which every digest and every signature was checked just now. */
export interface TrustedArtifact extends LoadedArtifact {
  bundleDigest: string;
  attestations: readonly VerifiedAttestation[];
}

/**
 * Load an artifact and see that it is what a record says: the digest of each blob; id, version, revision and permissions;
 * and the attestations that this instance signed when the draft passed in this project. The record alone is not believed:
 * whoever can change the database cannot make what was never validated run.
 *
 * @throws GloveboxError `ARTIFACT_CORRUPTED` for bytes that are gone or are not those of their digest; `ARTIFACT_INVALID` where
 *   the record tells something else than the artifact; `ARTIFACT_UNSIGNED`, `ATTESTATION_*`.
 */
export async function loadTrusted(
  { artifacts, keys }: Pick<Engine, 'artifacts' | 'keys'>,
  claim: ArtifactClaim,
): Promise<TrustedArtifact> {
  const digest = claim.artifact;
  const [loaded, envelopeTexts] = await Promise.all([artifacts.load(digest), artifacts.attestations(digest)]).catch(
    (error: unknown) => {
      throw GloveboxError.is(error, 'NOT_FOUND') ? gone(digest, error) : error;
    },
  );
  requireSame(loaded, claim);
  const envelopes = envelopeTexts.map((text) => Buffer.from(text));
  const checked = checkAttestations({ digest, config: loaded.config }, envelopes, pinKeys({ keys }));
  if (!checked.ok) throw GloveboxError.fromData(checked.error);
  requireValidatedIn(claim.project, digest, checked.attestations);
  return { ...loaded, bundleDigest: sha256Of(loaded.bundle), attestations: checked.attestations };
}

/**
 * The artifact of a release: as loadTrusted, and with a statement of this instance that released it under this name, with
 * these permissions, for this image; and the audit chain tells of the release what its row does.
 *
 * @throws GloveboxError as loadTrusted and requireAudited do.
 */
export async function loadReleased(
  engine: Pick<Engine, 'artifacts' | 'audit' | 'keys'>,
  release: Release,
): Promise<TrustedArtifact> {
  const trusted = await loadTrusted(engine, { ...release, artifact: release.digest });
  const { ref, image, permissions } = release;
  if (!isReleasedAs(trusted, { ref, image, permissions })) {
    throw new GloveboxError('ARTIFACT_UNSIGNED', {
      message: `The artifact has no attestation that it was released as ${ref} for the image ${image}.`,
      details: { missing: ['release'] },
    });
  }
  // Such a statement is signed before there is a release, and stays when the release is revoked.
  await requireAudited(engine.audit, release);
  return trusted;
}

/** Whether a verified statement among the attestations releases the artifact just so. */
export function isReleasedAs(
  { digest, attestations }: TrustedArtifact,
  release: Pick<ReleasePredicate, 'ref' | 'image' | 'permissions'> & { publishedBy?: string },
): boolean {
  return attestations.some(
    (attestation) =>
      attestation.kind === 'release' &&
      attestation.predicate.digest === digest &&
      attestation.predicate.ref === release.ref &&
      attestation.predicate.image === release.image &&
      attestation.predicate.permissions === release.permissions &&
      (release.publishedBy === undefined || attestation.predicate.publishedBy === release.publishedBy),
  );
}

function requireSame({ digest, config }: LoadedArtifact, claim: ArtifactClaim): void {
  const pairs: [name: string, recorded: string, actual: string][] = [
    ['digest', claim.artifact, digest],
    ['id', claim.id, config.id],
    ['version', claim.version, config.version],
    ['revision', claim.revision, config.revision],
    ['permissions', claim.permissions, config.permissionsDigest],
  ];
  const differs = pairs.filter(([, recorded, actual]) => recorded !== actual).map(([name]) => name);
  if (differs.length === 0) return;
  throw new GloveboxError('ARTIFACT_INVALID', {
    message: `The record names an artifact that is not of ${claim.id}@${claim.version}: it differs in ${differs.join(', ')}.`,
    details: { differs },
  });
}

/** One artifact may have passed in several projects; having passed in another one is nothing here. */
function requireValidatedIn(project: string, digest: string, attestations: readonly VerifiedAttestation[]): void {
  const missing = (['provenance', 'report'] as const).filter(
    (kind) => !attestations.some((attestation) => attestation.kind === kind && projectOf(attestation) === project),
  );
  if (missing.length === 0) return;
  throw new GloveboxError('ARTIFACT_UNSIGNED', {
    message: `The artifact ${digest} has no attestation of its ${missing.join(' and ')} in project ${project}.`,
    details: { missing },
  });
}

function projectOf(attestation: VerifiedAttestation): string | undefined {
  switch (attestation.kind) {
    case 'provenance':
      return attestation.predicate.buildDefinition.externalParameters.project;
    case 'report':
      return attestation.predicate.project;
    case 'sbom':
    case 'release':
      return undefined;
  }
}

const gone = (digest: string, cause: unknown): GloveboxError =>
  new GloveboxError('ARTIFACT_CORRUPTED', { message: `The artifact ${digest} is gone.`, cause });
