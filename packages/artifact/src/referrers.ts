import {
  artifactLimits,
  artifactMediaTypes,
  type Descriptor,
  type OciIndex,
  ociIndexSchema,
  ociManifestSchema,
  refNameAnnotation,
} from '@glovebox/contract';
import { invalid, parseUnsafe, type ReadBlob, readDescribed } from './load-artifact.ts';
import { encodeReferrerManifest, referrersTag } from './oci-manifest.ts';

/** An index of a layout. @returns undefined when the bytes are none. */
export function readIndex(bytes: Uint8Array, maxBytes: number): OciIndex | undefined {
  const checked = ociIndexSchema.safeParse(parseUnsafe(bytes, maxBytes, 16));
  return checked.success ? checked.data : undefined;
}

/**
 * The attestations of an artifact, in the order in which the layout lists them: manifests of the index, and of the index
 * under the referrers tag, that name it as their subject. Other things that refer to it, such as other tools' signatures,
 * are passed over. Nobody has looked at a signature yet.
 *
 * @throws GloveboxError `ARTIFACT_CORRUPTED`, `ARTIFACT_INVALID`.
 */
export async function readAttestations(digest: string, index: OciIndex, read: ReadBlob): Promise<Uint8Array[]> {
  const listed = [...index.manifests];
  for (const descriptor of index.manifests) {
    if (descriptor.mediaType !== artifactMediaTypes.index) continue;
    if (descriptor.annotations?.[refNameAnnotation] !== referrersTag(digest)) continue;
    const nested = readIndex(
      await readDescribed(descriptor, artifactLimits.indexBytes, read),
      artifactLimits.indexBytes,
    );
    if (nested === undefined) throw invalid('its list of referrers is none');
    listed.push(...nested.manifests);
  }
  const wanted = new Map(listed.filter((descriptor) => mayAttest(descriptor, digest)).map((d) => [d.digest, d]));
  if (wanted.size > artifactLimits.attestations) {
    throw invalid(`it may have more than ${artifactLimits.attestations} attestations`);
  }
  const envelopes: Uint8Array[] = [];
  for (const descriptor of wanted.values()) {
    const bytes = await readDescribed(descriptor, artifactLimits.manifestBytes, read);
    const envelope = envelopeOf(bytes, digest);
    if (envelope !== undefined) envelopes.push(await readDescribed(envelope, artifactLimits.attestationBytes, read));
  }
  return envelopes;
}

function mayAttest({ mediaType, artifactType, digest }: Descriptor, subject: string): boolean {
  if (mediaType !== artifactMediaTypes.manifest || digest === subject) return false;
  return artifactType === undefined || artifactType === artifactMediaTypes.attestation;
}

/** The envelope that a manifest attaches to the artifact; undefined when it is about something else. */
export function envelopeOf(manifestBytes: Uint8Array, digest: string): Descriptor | undefined {
  const checked = ociManifestSchema.safeParse(parseUnsafe(manifestBytes, artifactLimits.manifestBytes, 8));
  if (!checked.success) return undefined;
  const { artifactType, subject, layers } = checked.data;
  if (artifactType !== artifactMediaTypes.attestation || subject?.digest !== digest) return undefined;
  const [envelope] = layers;
  const isOurs =
    envelope?.mediaType === artifactMediaTypes.attestation &&
    Buffer.compare(encodeReferrerManifest(envelope, subject), manifestBytes) === 0;
  if (!isOurs) throw invalid('one of its attestations is attached in another form than ours');
  return envelope;
}
