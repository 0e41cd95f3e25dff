import { describeBlob, emptyConfig, encodeReferrerManifest, referrersTag, sha256Of } from '@glovebox/artifact';
import { artifactMediaTypes, type Descriptor, type OciIndex, refNameAnnotation } from '@glovebox/contract';

/** An attestation as blobs: the envelope, and a manifest that attaches it to its artifact. */
export interface Referrer {
  /** Of the manifest. */
  descriptor: Descriptor;
  blobs: ReadonlyMap<string, Uint8Array>;
}

export function asReferrer(subject: Pick<Descriptor, 'mediaType' | 'digest' | 'size'>, envelopeText: string): Referrer {
  const envelope = Buffer.from(envelopeText);
  const described = describeBlob(artifactMediaTypes.attestation, envelope);
  const manifest = encodeReferrerManifest(described, subject);
  const descriptor = {
    ...describeBlob(artifactMediaTypes.manifest, manifest),
    artifactType: artifactMediaTypes.attestation,
  };
  return {
    descriptor,
    blobs: new Map<string, Uint8Array>([
      [described.digest, envelope],
      [sha256Of(emptyConfig), emptyConfig],
      [descriptor.digest, manifest],
    ]),
  };
}

/** The list of what refers to an artifact, and how the layout's index names it. */
export function listReferrers(
  digest: string,
  referrers: readonly Descriptor[],
): { descriptor: Descriptor; bytes: Uint8Array } {
  const bytes = encodeIndex({ schemaVersion: 2, mediaType: artifactMediaTypes.index, manifests: [...referrers] });
  return {
    descriptor: {
      ...describeBlob(artifactMediaTypes.index, bytes),
      annotations: { [refNameAnnotation]: referrersTag(digest) },
    },
    bytes,
  };
}

/** How the layout's index names an artifact. */
export function describeArtifact(manifest: Uint8Array, refName: string): Descriptor {
  return {
    ...describeBlob(artifactMediaTypes.manifest, manifest),
    artifactType: artifactMediaTypes.artifact,
    annotations: { [refNameAnnotation]: refName },
  };
}

export const encodeIndex = (index: OciIndex): Uint8Array => Buffer.from(JSON.stringify(index));

export const emptyIndex: OciIndex = { schemaVersion: 2, mediaType: artifactMediaTypes.index, manifests: [] };

/** What oci-layout holds. */
export const layoutMarker: Uint8Array = Buffer.from('{"imageLayoutVersion":"1.0.0"}');
