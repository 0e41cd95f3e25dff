import { z } from 'zod';
import { idPatterns } from './ids.ts';
import { statementType } from './receipt.ts';
import { reportSchema } from './report.ts';

const digest = z.string().regex(idPatterns.digest);
const sha512Hex = z.string().regex(/^[0-9a-f]{128}$/);

/** An in-toto statement about one thing, whatever it says of it. */
export const statementSchema = z.strictObject({
  _type: z.literal(statementType),
  subject: z
    .array(z.strictObject({ name: z.string(), digest: z.strictObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/) }) }))
    .length(1),
  predicateType: z.string().max(255),
  predicate: z.json(),
});
export type Statement = z.infer<typeof statementSchema>;

export const provenanceBuildType = 'urn:glovebox:node-build:1';
/** SLSA's `builder.id` of an instance. */
export const builderIdPrefix = 'urn:glovebox:instance:';

/** SLSA v1 (slsa.dev/spec/v1.0/provenance); fields of ours begin with `glovebox_`, as it asks. */
export const provenancePredicateSchema = z.strictObject({
  buildDefinition: z.strictObject({
    buildType: z.literal(provenanceBuildType),
    /** What was asked for. */
    externalParameters: z.strictObject({
      project: z.string(),
      id: z.string(),
      version: z.string(),
      /** sha256 of the canonical file list of the source. */
      revision: digest,
    }),
    /** What the builder brought: tools as text, and the runtime image that fixtures ran in. */
    internalParameters: z.strictObject({ toolchain: z.array(z.string()), image: digest }),
    /** Every locked package, by place in the tree. */
    resolvedDependencies: z.array(
      z.strictObject({
        name: z.string(),
        uri: z.string(),
        digest: z.strictObject({ sha512: sha512Hex }),
        /** Since when the registry says it has this version; left out where nobody asked. */
        annotations: z.strictObject({ publishedOn: z.iso.datetime() }).optional(),
      }),
    ),
  }),
  runDetails: z.strictObject({
    builder: z.strictObject({ id: z.string().startsWith(builderIdPrefix) }),
    metadata: z.strictObject({
      invocationId: z.string(),
      startedOn: z.iso.datetime(),
      finishedOn: z.iso.datetime(),
      /** The principal that asked for the validation. */
      glovebox_creator: z.string(),
      glovebox_correlationId: z.string(),
    }),
  }),
});
export type ProvenancePredicate = z.infer<typeof provenancePredicateSchema>;

const hashes = z.array(z.strictObject({ alg: z.literal('SHA-512'), content: sha512Hex })).length(1);

/** CycloneDX 1.6 (ECMA-424) as it is written here: what is in the bundle, and what of it brought what in. */
export const sbomPredicateSchema = z.strictObject({
  bomFormat: z.literal('CycloneDX'),
  specVersion: z.literal('1.6'),
  version: z.literal(1),
  metadata: z.strictObject({
    tools: z.strictObject({
      components: z.array(z.strictObject({ type: z.literal('application'), name: z.string(), version: z.string() })),
    }),
    component: z.strictObject({
      type: z.literal('application'),
      'bom-ref': z.string(),
      name: z.string(),
      version: z.string(),
      purl: z.string(),
      licenses: z.array(z.strictObject({ license: z.strictObject({ name: z.string() }) })).length(1),
    }),
  }),
  components: z.array(
    z.strictObject({
      type: z.enum(['library', 'framework']),
      /** The place in the tree, such as `node_modules/a/node_modules/b`. */
      'bom-ref': z.string(),
      name: z.string(),
      version: z.string(),
      purl: z.string().optional(),
      hashes: hashes.optional(),
    }),
  ),
  dependencies: z.array(z.strictObject({ ref: z.string(), dependsOn: z.array(z.string()) })),
});
export type Sbom = z.infer<typeof sbomPredicateSchema>;

/** That an artifact was released, as what, and by whom. */
export const releasePredicateSchema = z.strictObject({
  instance: z.string().regex(idPatterns.instance),
  /** `project/id@version`. */
  ref: z.string(),
  digest,
  /** The runtime image that it was validated in. */
  image: digest,
  /** Digest of the canonical permissions that were published. */
  permissions: digest,
  publishedBy: z.string(),
  publishedAt: z.iso.datetime(),
});
export type ReleasePredicate = z.infer<typeof releasePredicateSchema>;

/** What each kind of attestation says; the keys are those of `predicateTypes`. */
export const predicateSchemas = {
  provenance: provenancePredicateSchema,
  report: reportSchema,
  sbom: sbomPredicateSchema,
  release: releasePredicateSchema,
} as const;
