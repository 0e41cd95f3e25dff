import { artifactMediaTypes, type Descriptor, type Digest } from '@glovebox/contract';
import { canonicalJson } from './canonical.ts';
import { sha256Of } from './digest.ts';

/** The config of a manifest that needs none (image-spec 1.1, "Guidance for an Empty Descriptor"). */
export const emptyConfig: Uint8Array = Buffer.from('{}');

/** The layers of an artifact, in their order, with the names by which tools unpack them. */
export const artifactLayers = [
  { part: 'bundle', mediaType: artifactMediaTypes.bundle, title: 'bundle.mjs' },
  { part: 'sourceMap', mediaType: artifactMediaTypes.sourceMap, title: 'bundle.mjs.map' },
  { part: 'source', mediaType: artifactMediaTypes.source, title: 'source.tar' },
] as const;

export type DescriptorOf = Pick<Descriptor, 'mediaType' | 'digest' | 'size'>;

export function describeBlob(mediaType: string, bytes: Uint8Array): DescriptorOf & { digest: Digest } {
  return { mediaType, digest: sha256Of(bytes), size: bytes.byteLength };
}

/** The one manifest of an artifact with these parts. `layers` in the order of artifactLayers. */
export function encodeArtifactManifest(config: DescriptorOf, layers: readonly DescriptorOf[]): Uint8Array {
  return encode({
    schemaVersion: 2,
    mediaType: artifactMediaTypes.manifest,
    artifactType: artifactMediaTypes.artifact,
    config: plain(config),
    layers: layers.map((layer, i) => ({
      ...plain(layer),
      annotations: { 'org.opencontainers.image.title': artifactLayers[i]?.title ?? '' },
    })),
  });
}

/** The one manifest by which an envelope refers to an artifact. */
export function encodeReferrerManifest(envelope: DescriptorOf, subject: DescriptorOf): Uint8Array {
  return encode({
    schemaVersion: 2,
    mediaType: artifactMediaTypes.manifest,
    artifactType: artifactMediaTypes.attestation,
    config: describeBlob(artifactMediaTypes.empty, emptyConfig),
    layers: [plain(envelope)],
    subject: plain(subject),
  });
}

/**
 * The name under which a layout lists what refers to a manifest (distribution-spec 1.1, "Referrers Tag Schema").
 *
 * @param digest `sha256:` and hex.
 */
export const referrersTag = (digest: string): string => digest.replace(':', '-');

const plain = ({ mediaType, digest, size }: DescriptorOf): DescriptorOf => ({ mediaType, digest, size });

const encode = (manifest: object): Uint8Array => Buffer.from(canonicalJson(manifest));
