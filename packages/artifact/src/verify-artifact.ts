import {
  type ArtifactConfig,
  artifactLimits,
  artifactMediaTypes,
  type Descriptor,
  type ErrorData,
  GloveboxError,
  type OciIndex,
  ociManifestSchema,
} from '@glovebox/contract';
import { startCheck, type VerifiedAttestation } from './check-attestations.ts';
import { pinKeys, type TrustedKeys } from './check-statement.ts';
import { type LayoutReader, unreadable } from './layout-reader.ts';
import { corrupted, loadArtifact, parseUnsafe, type ReadBlob, readDescribed } from './load-artifact.ts';
import { readAttestations, readIndex } from './referrers.ts';

export type ArtifactVerification =
  | { ok: true; digest: string; config: ArtifactConfig; attestations: VerifiedAttestation[] }
  | { ok: false; error: ErrorData };

/**
 * Check an artifact in an OCI image layout against keys that the caller trusts; needs neither network nor store.
 *
 * Every digest is computed again; config, permissions and source are held against one another; then every attestation is
 * checked, signatures first.
 *
 * @param options `digest` names the artifact where the layout has more than one.
 * @returns what was verified, or what is wrong: `ARTIFACT_UNREADABLE` no layout with an artifact; `NOT_FOUND` not that one;
 *   `ARTIFACT_CORRUPTED`, `ARTIFACT_INVALID` as loadArtifact; `ARTIFACT_UNSIGNED`, `ATTESTATION_*`, `KEY_RETIRED` as
 *   checkAttestations; `KEY_UNUSABLE` a pinned key is none.
 */
export async function verifyArtifact(
  layout: LayoutReader,
  options: TrustedKeys & { digest?: string },
): Promise<ArtifactVerification> {
  try {
    const pinned = pinKeys(options);
    const index = await readLayoutIndex(layout);
    const read: ReadBlob = async (digest, maxBytes) =>
      layout.read(`blobs/sha256/${digest.slice('sha256:'.length)}`, maxBytes).catch((error: unknown) => {
        throw GloveboxError.is(error, 'ARTIFACT_UNREADABLE')
          ? corrupted(digest, 'is not what it should be', error)
          : error;
      });
    const subject = await chooseArtifact(index, read, options.digest);
    const { digest } = subject;
    const { config } = await loadArtifact(digest, read);
    const check = startCheck({ digest, config }, pinned);
    for await (const envelope of readAttestations(subject, index, read)) {
      const error = check.add(envelope);
      if (error !== undefined) return { ok: false, error };
    }
    const checked = check.end();
    return checked.ok ? { ok: true, digest, config, attestations: checked.attestations } : checked;
  } catch (error) {
    if (error instanceof GloveboxError) return { ok: false, error: error.toData() };
    throw error;
  }
}

async function readLayoutIndex(layout: LayoutReader): Promise<OciIndex> {
  const marker = await layout.read('oci-layout', 1024);
  if (marker === undefined) throw unreadable('it has no file oci-layout');
  const version = parseUnsafe(marker, 1024, 2) as { imageLayoutVersion?: unknown } | null | undefined;
  if (version?.imageLayoutVersion !== '1.0.0') throw unreadable('its oci-layout is not of version 1.0.0');
  const bytes = await layout.read('index.json', artifactLimits.indexBytes);
  if (bytes === undefined) throw unreadable('it has no index.json');
  const index = readIndex(bytes, artifactLimits.indexBytes);
  if (index === undefined) throw unreadable('its index.json is not an index');
  return index;
}

async function chooseArtifact(index: OciIndex, read: ReadBlob, wanted: string | undefined): Promise<Descriptor> {
  const found = new Map<string, Descriptor>();
  // A hostile index may name one manifest any number of times.
  const seen = new Set<string>();
  for (const descriptor of index.manifests) {
    if (descriptor.mediaType !== artifactMediaTypes.manifest || seen.has(descriptor.digest)) continue;
    if (wanted !== undefined && descriptor.digest !== wanted) continue;
    seen.add(descriptor.digest);
    // By the manifest itself: tools that copy a layout leave the type out of the index.
    if ((await artifactTypeOf(descriptor, read)) === artifactMediaTypes.artifact)
      found.set(descriptor.digest, descriptor);
  }
  const [artifact, ...others] = found.values();
  if (wanted !== undefined && artifact === undefined) {
    throw new GloveboxError('NOT_FOUND', { message: `The layout has no artifact ${wanted}.` });
  }
  if (artifact === undefined) throw unreadable('the layout has none');
  if (others.length > 0) {
    throw new GloveboxError('ARTIFACT_UNREADABLE', {
      message: `The layout has ${found.size} artifacts.`,
      hint: 'Name the one that you mean by its digest.',
    });
  }
  return artifact;
}

async function artifactTypeOf(
  descriptor: { digest: string; size: number },
  read: ReadBlob,
): Promise<string | undefined> {
  const bytes = await readDescribed(descriptor, artifactLimits.manifestBytes, read);
  const checked = ociManifestSchema.safeParse(parseUnsafe(bytes, artifactLimits.manifestBytes, 8));
  return checked.success ? checked.data.artifactType : undefined;
}
