import { z } from 'zod';
import { idPatterns } from './ids.ts';
import { manifestSchema } from './manifest.ts';

/** Media types of an artifact, an OCI image manifest with an artifactType (image-spec 1.1, "Guidelines for Artifact Usage"). */
export const artifactMediaTypes = {
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  index: 'application/vnd.oci.image.index.v1+json',
  empty: 'application/vnd.oci.empty.v1+json',
  artifact: 'application/vnd.glovebox.node.v1',
  config: 'application/vnd.glovebox.node.config.v1+json',
  bundle: 'application/vnd.glovebox.node.bundle.v1+javascript',
  sourceMap: 'application/vnd.glovebox.node.source-map.v1+json',
  source: 'application/vnd.glovebox.node.source.v1.tar',
  /** DSSE envelope of an in-toto statement, as a referrer of an artifact. */
  attestation: 'application/vnd.dsse.envelope.v1+json',
} as const;

export const predicateTypes = {
  provenance: 'https://slsa.dev/provenance/v1',
  report: 'urn:glovebox:validation-report:1',
  sbom: 'https://cyclonedx.org/bom',
  release: 'urn:glovebox:release:1',
} as const;
export type PredicateName = keyof typeof predicateTypes;

const digest = z.string().regex(idPatterns.digest);

/** The config of an artifact: canonical JSON, content and toolchain text only, so that the same source gives the same digest anywhere. */
export const artifactConfigSchema = z.strictObject({
  schema: z.literal('glovebox.node/1'),
  id: z.string().regex(idPatterns.node),
  version: z.string(),
  name: z.string(),
  license: z.string(),
  revision: digest,
  /** With every default filled in. */
  manifest: manifestSchema,
  /** RFC 8785 form; see permissionsOf. */
  permissions: z.json(),
  permissionsDigest: digest,
  /** Sorted; such as `esbuild@0.28.2`. */
  toolchain: z.array(z.string()),
  /** What the bundle was made from, sorted by path. */
  dependencies: z.array(
    z.strictObject({ path: z.string(), name: z.string(), version: z.string(), integrity: z.string() }),
  ),
});
export type ArtifactConfig = z.infer<typeof artifactConfigSchema>;
