import { z } from 'zod';
import { packageLimits } from './build-limits.ts';
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

/** Bounds of an artifact's parts in bytes. Those of bundle and source map are the build's. */
export const artifactLimits = {
  manifestBytes: 64 * 1024,
  configBytes: 4 * 1024 * 1024,
  /** A package at its limits, with two headers for each file. */
  sourceBytes: packageLimits.totalBytes + packageLimits.files * 4096 + 1024,
  attestationBytes: 4 * 1024 * 1024,
  /** Of one artifact. */
  attestations: 1000,
  /** index.json of a layout with one artifact. */
  indexBytes: 4 * 1024 * 1024,
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
    z.strictObject({
      path: z.string(),
      name: z.string(),
      version: z.string(),
      /** Subresource Integrity: one sha512 hash. */
      integrity: z.string().regex(/^sha512-[A-Za-z0-9+/]{86}==$/),
    }),
  ),
});
export type ArtifactConfig = z.infer<typeof artifactConfigSchema>;

/** A descriptor of the OCI image specification, as far as it is read here. */
export const descriptorSchema = z.looseObject({
  mediaType: z.string().regex(/^[\w.+-]{1,127}\/[\w.+-]{1,127}$/),
  digest,
  size: z.int().min(0),
  artifactType: z.string().optional(),
  annotations: z.record(z.string(), z.string()).optional(),
});
export type Descriptor = z.infer<typeof descriptorSchema>;

export const ociManifestSchema = z.looseObject({
  schemaVersion: z.literal(2),
  mediaType: z.literal(artifactMediaTypes.manifest),
  artifactType: z.string().optional(),
  config: descriptorSchema,
  layers: z.array(descriptorSchema).max(16),
  subject: descriptorSchema.optional(),
});
export type OciManifest = z.infer<typeof ociManifestSchema>;

export const ociIndexSchema = z.looseObject({
  schemaVersion: z.literal(2),
  manifests: z.array(descriptorSchema),
});
export type OciIndex = z.infer<typeof ociIndexSchema>;

/** The annotation by which tools find a manifest in a layout. */
export const refNameAnnotation = 'org.opencontainers.image.ref.name';
