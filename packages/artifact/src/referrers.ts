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
 * One at a time, and only when it is asked for: whoever stops at the first that no trusted key has signed holds no more of
 * a hostile layout than that one.
 *
 * @param subject the manifest of the artifact, as the index describes it.
 * @throws GloveboxError `ARTIFACT_CORRUPTED`, `ARTIFACT_INVALID`.
 */
export async function* readAttestations(
  subject: Pick<Descriptor, 'digest' | 'size'>,
  index: OciIndex,
  read: ReadBlob,
): AsyncGenerator<Uint8Array> {
  const listed = [...index.manifests, ...(await readReferrersList(subject.digest, index, read))];
  const wanted = new Map(
    listed.filter((descriptor) => mayAttest(descriptor, subject.digest)).map((d) => [d.digest, d]),
  );
  if (wanted.size > artifactLimits.attestations) {
    throw invalid(`it may have more than ${artifactLimits.attestations} attestations`);
  }
  for (const descriptor of wanted.values()) {
    const bytes = await readDescribed(descriptor, artifactLimits.manifestBytes, read);
    const envelope = envelopeOf(bytes, subject);
    if (envelope !== undefined) yield await readDescribed(envelope, artifactLimits.attestationBytes, read);
  }
}

/** What the index under the referrers tag lists; nothing where there is none. */
async function readReferrersList(digest: string, index: OciIndex, read: ReadBlob): Promise<readonly Descriptor[]> {
  const tag = referrersTag(digest);
  const [list, ...others] = index.manifests.filter(
    ({ mediaType, annotations }) => mediaType === artifactMediaTypes.index && annotations?.[refNameAnnotation] === tag,
  );
  if (list === undefined) return [];
  // A name stands for one thing. Read each time that it is named, a list of some megabytes would fill the memory.
  if (others.some((other) => other.digest !== list.digest)) throw invalid('it has two lists of referrers');
  const { indexBytes } = artifactLimits;
  const nested = readIndex(await readDescribed(list, indexBytes, read), indexBytes);
  if (nested === undefined) throw invalid('its list of referrers is none');
  return nested.manifests;
}

function mayAttest({ mediaType, artifactType, digest }: Descriptor, subject: string): boolean {
  if (mediaType !== artifactMediaTypes.manifest || digest === subject) return false;
  return artifactType === undefined || artifactType === artifactMediaTypes.attestation;
}

/**
 * The envelope that a manifest attaches to the artifact; undefined when it is about something else.
 *
 * There is one manifest that attaches an envelope to a subject, so no envelope is read for more than one of them.
 */
function envelopeOf(
  manifestBytes: Uint8Array,
  { digest, size }: Pick<Descriptor, 'digest' | 'size'>,
): Descriptor | undefined {
  const checked = ociManifestSchema.safeParse(parseUnsafe(manifestBytes, artifactLimits.manifestBytes, 8));
  if (!checked.success) return undefined;
  const { artifactType, subject, layers } = checked.data;
  if (artifactType !== artifactMediaTypes.attestation || subject?.digest !== digest) return undefined;
  const [envelope] = layers;
  const exact = { mediaType: artifactMediaTypes.manifest, digest, size };
  const isOurs =
    envelope?.mediaType === artifactMediaTypes.attestation &&
    Buffer.compare(encodeReferrerManifest(envelope, exact), manifestBytes) === 0;
  if (!isOurs) throw invalid('one of its attestations is attached in another form than ours');
  return envelope;
}
