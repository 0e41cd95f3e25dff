import { openLayout, type TrustedKeyTexts, verifyArtifact } from '@glovebox/artifact';
import { GloveboxError } from '@glovebox/contract';
import type { Verified } from './verified.ts';

/**
 * Verify an artifact in an OCI image layout: a directory, or a tar of one.
 *
 * @param digest which one, where there are several.
 * @throws GloveboxError `ARTIFACT_*`, `ATTESTATION_*`, `KEY_RETIRED`, `NOT_FOUND`.
 */
export async function verifyArtifactFile(
  path: string,
  trusted: TrustedKeyTexts,
  digest: string | undefined,
): Promise<Verified> {
  const layout = await openLayout(path);
  try {
    const verified = await verifyArtifact(layout, { ...trusted, ...(digest === undefined ? {} : { digest }) });
    if (!verified.ok) throw GloveboxError.fromData(verified.error);
    const { config, attestations } = verified;
    const { id, version, revision, toolchain, permissionsDigest: permissions } = config;
    const keyId = attestations.find(({ kind }) => kind === 'provenance')?.keyId ?? '';
    const kinds = attestations.map(({ kind, keyId: by, digest: of }) => ({ kind, keyId: by, digest: of }));
    const releases = attestations.flatMap((found) => (found.kind === 'release' ? [found.predicate.ref] : []));
    const node = { id, version, revision, permissions, toolchain };
    return {
      json: {
        verified: true,
        kind: 'artifact',
        keyId,
        comparedWithRecord: false,
        digest: verified.digest,
        node,
        releases,
        attestations: kinds,
      },
      words: [
        `artifact  ${verified.digest}`,
        `node      ${id}@${version}`,
        `source    ${revision}`,
        `may do    ${permissions}`,
        `built by  ${toolchain.join(', ')}`,
        `attested  ${[...new Set(kinds.map(({ kind }) => kind))].join(', ')}`,
        ...releases.map((ref) => `released  ${ref}`),
      ],
    };
  } finally {
    await layout.close();
  }
}
