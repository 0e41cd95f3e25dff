import { z } from 'zod';
import { artifactConfigSchema } from '../artifact.ts';
import { draftSchema } from '../draft.ts';
import { releaseSchema } from '../release.ts';
import { checkResultSchema } from '../report.ts';
import { errorDataSchema } from './error-view.ts';
import {
  acceptedEvent,
  bytes,
  digest,
  json,
  jsonValue,
  nodeId,
  nothing,
  project,
  projectParams,
  type RouteGroup,
  skippedEvent,
  smallBodyBytes,
  stepEvent,
  whole,
} from './route.ts';

/** `id`, `id@1.2.3` or `id@sha256:…` of the project in the path. */
const reference = z
  .string()
  .max(300)
  .regex(/^[^/]+$/);
const referenceParams = z.strictObject({ project, reference });

/** As it stands in `node publish --json`. */
export const publishedSchema = z.strictObject({
  ref: z.string(),
  digest,
  /** False when the same digest was released under that version before. */
  created: z.boolean(),
});
export type PublishedView = z.infer<typeof publishedSchema>;

/** What the artifact of a release says, all of it verified. */
const releaseContentSchema = z.strictObject({
  name: z.string(),
  license: z.string(),
  toolchain: z.array(z.string()),
  dependencies: artifactConfigSchema.shape.dependencies,
  title: z.string(),
  description: z.string(),
  category: z.string(),
  /** JSON Schemas of the author. */
  input: jsonValue,
  config: jsonValue,
  output: jsonValue,
  bundleDigest: digest,
  permissions: z.strictObject({
    digest,
    /** For people, a line each. */
    words: z.array(z.string()),
    json: jsonValue,
  }),
  report: z
    .strictObject({ checks: z.array(checkResultSchema), warnings: z.int().min(0), notices: z.int().min(0) })
    .nullable(),
  attestations: z.array(z.strictObject({ kind: z.string(), keyId: z.string(), digest })),
});

/** `content` is null where the artifact cannot be trusted: `problem` says why, and no run of it begins. */
export const releaseDetailsSchema = z.strictObject({
  release: releaseSchema,
  content: releaseContentSchema.nullable(),
  problem: errorDataSchema.nullable(),
});
export type ReleaseDetailsView = z.infer<typeof releaseDetailsSchema>;

export const changedReleaseSchema = z.strictObject({ release: releaseSchema, changed: z.boolean() });

export const nodeSummarySchema = z.strictObject({
  project: z.string(),
  id: z.string(),
  title: z.string(),
  draft: draftSchema.nullable(),
  /** Newest version first. */
  releases: z.array(releaseSchema),
});
export type NodeSummaryView = z.infer<typeof nodeSummarySchema>;

export const releaseRoutes = {
  'nodes.list': {
    method: 'GET',
    path: '/v1/projects/:project/nodes',
    summary: 'Nodes with their draft and releases, by id',
    role: 'viewer',
    idempotent: true,
    params: projectParams,
    query: z.strictObject({ limit: whole(1, 200).optional(), after: nodeId.optional() }),
    body: null,
    responses: { 200: json(z.strictObject({ nodes: z.array(nodeSummarySchema) })) },
    streams: null,
  },
  'releases.publish': {
    method: 'POST',
    path: '/v1/projects/:project/releases',
    summary: 'Release a draft that has passed',
    role: 'publisher',
    idempotent: true,
    params: projectParams,
    query: nothing,
    body: {
      schema: z.strictObject({
        id: nodeId,
        /** What is meant to be published; whatever has passed where left out. */
        revision: digest.optional(),
      }),
      maxBytes: smallBodyBytes,
    },
    responses: { 200: json(publishedSchema) },
    streams: null,
  },
  'releases.list': {
    method: 'GET',
    path: '/v1/projects/:project/releases',
    summary: 'Releases by id, then newest version first',
    role: 'viewer',
    idempotent: true,
    params: projectParams,
    query: z.strictObject({
      limit: whole(1, 1000).optional(),
      id: nodeId.optional(),
      /** `id@version` of the last one that was read. */
      after: z.string().max(300).optional(),
    }),
    body: null,
    responses: { 200: json(z.strictObject({ releases: z.array(releaseSchema) })) },
    streams: null,
  },
  'releases.get': {
    method: 'GET',
    path: '/v1/projects/:project/releases/:reference',
    summary: 'The release that a reference names; without version or digest the newest that is not revoked',
    role: 'viewer',
    idempotent: true,
    params: referenceParams,
    query: nothing,
    body: null,
    responses: { 200: json(releaseDetailsSchema) },
    streams: null,
  },
  'releases.change': {
    method: 'PATCH',
    path: '/v1/projects/:project/releases/:reference',
    summary: 'Deprecate a release, take that back, or revoke it for good',
    role: 'publisher',
    idempotent: true,
    params: referenceParams,
    query: nothing,
    body: {
      schema: z.strictObject({
        state: z.enum(['active', 'deprecated', 'revoked']),
        /** Why, in one line; with every state but active. */
        reason: z.string().max(500).optional(),
      }),
      maxBytes: smallBodyBytes,
    },
    responses: { 200: json(changedReleaseSchema) },
    streams: null,
  },
  'releases.revalidate': {
    method: 'POST',
    path: '/v1/projects/:project/releases/:reference/revalidations',
    summary: 'Prove a release again in the runtime image that is here, and let it run in it from then on',
    role: 'publisher',
    idempotent: true,
    params: referenceParams,
    query: nothing,
    body: { schema: nothing, maxBytes: smallBodyBytes },
    responses: { 200: json(changedReleaseSchema) },
    streams: z.discriminatedUnion('event', [acceptedEvent, skippedEvent, stepEvent]),
  },
  'artifacts.attestations': {
    method: 'GET',
    path: '/v1/projects/:project/releases/:reference/attestations',
    summary: 'DSSE envelopes about the artifact of a release, oldest first',
    role: 'viewer',
    idempotent: true,
    params: referenceParams,
    query: nothing,
    body: null,
    responses: { 200: json(z.strictObject({ envelopeTexts: z.array(z.string()) })) },
    streams: null,
  },
  'artifacts.export': {
    method: 'GET',
    path: '/v1/projects/:project/releases/:reference/artifact',
    summary: 'The artifact of a release with its attestations: an OCI image layout in a tar',
    role: 'viewer',
    idempotent: true,
    params: referenceParams,
    query: nothing,
    body: null,
    responses: { 200: bytes('application/x-tar') },
    streams: null,
  },
} as const satisfies RouteGroup;
