import { z } from 'zod';
import { draftSchema, draftStates, snapshotSchema } from '../draft.ts';
import { checkIds, checkResultSchema, reportFindingSchema, reportSchema } from '../report.ts';
import {
  acceptedEvent,
  digest,
  json,
  nodeId,
  nothing,
  project,
  projectParams,
  type RouteGroup,
  skippedEvent,
  smallBodyBytes,
  snapshotBodyBytes,
  stepEvent,
  whole,
} from './route.ts';

const draftParams = z.strictObject({ project, id: nodeId });

/** As it stands in `node validate --json`. */
export const validationSchema = z.strictObject({
  draft: z.strictObject({ project: z.string(), id: z.string(), revision: digest }),
  state: z.enum(draftStates),
  /** Digest of the artifact, when the revision has passed. */
  artifact: digest.nullable(),
  checks: z.array(checkResultSchema),
  findings: z.array(reportFindingSchema),
});
export type ValidationView = z.infer<typeof validationSchema>;

/** What a validation tells while it goes on. Checks run side by side: their events are interleaved. */
export const validationEventSchema = z.discriminatedUnion('event', [
  acceptedEvent,
  skippedEvent,
  stepEvent,
  z.strictObject({ event: z.literal('check-began'), id: z.enum(checkIds) }),
  z.strictObject({
    event: z.literal('check-ended'),
    result: checkResultSchema,
    findings: z.array(reportFindingSchema),
  }),
]);
export type ValidationEvent = z.infer<typeof validationEventSchema>;

export const draftRoutes = {
  'drafts.put': {
    method: 'PUT',
    path: '/v1/projects/:project/drafts/:id',
    summary: 'Register a node package at the revision that its files make',
    role: 'author',
    idempotent: true,
    params: draftParams,
    query: nothing,
    body: { schema: snapshotSchema, maxBytes: snapshotBodyBytes },
    responses: {
      200: json(z.strictObject({ kind: z.enum(['created', 'replaced', 'unchanged']), draft: draftSchema })),
    },
    streams: null,
  },
  'drafts.list': {
    method: 'GET',
    path: '/v1/projects/:project/drafts',
    summary: 'Drafts, by id',
    role: 'viewer',
    idempotent: true,
    params: projectParams,
    query: z.strictObject({ limit: whole(1, 1000).optional(), after: nodeId.optional() }),
    body: null,
    responses: { 200: json(z.strictObject({ drafts: z.array(draftSchema) })) },
    streams: null,
  },
  'drafts.get': {
    method: 'GET',
    path: '/v1/projects/:project/drafts/:id',
    summary: 'A draft, with the report of its last validation',
    role: 'viewer',
    idempotent: true,
    params: draftParams,
    query: nothing,
    body: null,
    responses: { 200: json(z.strictObject({ draft: draftSchema, report: reportSchema.nullable() })) },
    streams: null,
  },
  'drafts.validate': {
    method: 'POST',
    path: '/v1/projects/:project/drafts/:id/validations',
    summary: 'Run every check over a draft; what they find is the answer, not an error',
    role: 'author',
    idempotent: true,
    params: draftParams,
    query: nothing,
    body: {
      schema: z.strictObject({
        /** What is meant to be validated; the one that is registered where left out. */
        revision: digest.optional(),
      }),
      maxBytes: smallBodyBytes,
    },
    responses: { 200: json(validationSchema) },
    streams: validationEventSchema,
  },
} as const satisfies RouteGroup;
