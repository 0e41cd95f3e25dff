import {
  type ArtifactConfig,
  artifactConfigSchema,
  artifactMediaTypes,
  type Digest,
  GloveboxError,
  type Json,
  type Manifest,
  sortedByBytes,
} from '@glovebox/contract';
import { canonicalJson, wellFormed } from './canonical.ts';
import { sha256Of } from './digest.ts';
import { artifactLayers, describeBlob, encodeArtifactManifest } from './oci-manifest.ts';
import { permissionsDigest, permissionsOf } from './permissions.ts';
import { encodeSnapshot } from './snapshot.ts';

/** What an artifact is made of. Nothing of the machine or the moment is among it. */
export interface ArtifactParts {
  manifest: Manifest;
  /** Of package.json. */
  name: string;
  version: string;
  license: string;
  revision: string;
  files: ReadonlyMap<string, Uint8Array>;
  dependencies: readonly ArtifactConfig['dependencies'][number][];
  bundle: Uint8Array;
  sourceMap: Uint8Array;
  /** Tools that decided about the bytes, as text, such as `esbuild@0.28.2`. */
  toolchain: readonly string[];
}

export interface ComposedArtifact {
  /** sha256 of `manifest`. */
  digest: Digest;
  manifest: Uint8Array;
  /** Every blob that the manifest names, by digest. */
  blobs: ReadonlyMap<string, Uint8Array>;
  config: ArtifactConfig;
}

/**
 * The artifact of these parts: the same bytes for the same parts, in whatever order they are listed, on any machine.
 *
 * Halves of surrogate pairs in the author's texts become U+FFFD, since no UTF-8 can carry them.
 *
 * @throws GloveboxError `INTERNAL` for parts that no validation lets through; as encodeSnapshot does.
 */
export function composeArtifact(parts: ArtifactParts): ComposedArtifact {
  const manifest = wellFormed(parts.manifest as Json) as Manifest;
  const byPath = new Map(parts.dependencies.map((dependency) => [dependency.path, dependency]));
  const checked = artifactConfigSchema.safeParse({
    schema: 'glovebox.node/1',
    id: manifest.id,
    version: parts.version,
    name: parts.name,
    license: parts.license.toWellFormed(),
    revision: parts.revision,
    manifest,
    permissions: permissionsOf(manifest),
    permissionsDigest: permissionsDigest(manifest),
    toolchain: sortedByBytes([...new Set(parts.toolchain)]),
    dependencies: sortedByBytes([...byPath.keys()]).flatMap((path) => {
      const found = byPath.get(path);
      return found === undefined
        ? []
        : [{ path, name: found.name, version: found.version, integrity: found.integrity }];
    }),
  });
  if (!checked.success) {
    throw new GloveboxError('INTERNAL', { message: 'the parts of the artifact are not valid', cause: checked.error });
  }
  const contents = { bundle: parts.bundle, sourceMap: parts.sourceMap, source: encodeSnapshot(parts.files) };
  const configBytes = Buffer.from(canonicalJson(checked.data));
  const config = describeBlob(artifactMediaTypes.config, configBytes);
  const layers = artifactLayers.map(({ part, mediaType }) => describeBlob(mediaType, contents[part]));
  const manifestBytes = encodeArtifactManifest(config, layers);
  return {
    digest: sha256Of(manifestBytes),
    manifest: manifestBytes,
    blobs: new Map<string, Uint8Array>([
      [config.digest, configBytes],
      ...artifactLayers.map(({ part }, i) => [layers[i]?.digest ?? '', contents[part]] as const),
    ]),
    config: checked.data,
  };
}
