import { z } from 'zod';
import { auditActions, auditCheckpointSchema, auditEntrySchema } from '../audit.ts';
import { bytes, json, nothing, project, type RouteGroup, trustedKeys, trustedKeysBytes, whole } from './route.ts';

/** One chain for all projects: whoever reads it sees what is done in each. */
export const auditRoutes = {
  'audit.list': {
    method: 'GET',
    path: '/v1/audit',
    summary: 'Entries of the audit chain, oldest first',
    role: 'admin',
    idempotent: true,
    params: nothing,
    query: z.strictObject({
      /** Number of the last entry that was read. */
      after: whole(0, Number.MAX_SAFE_INTEGER).optional(),
      limit: whole(1, 1000).optional(),
      project: project.optional(),
      action: z.enum(auditActions).optional(),
      subject: z.string().max(300).optional(),
    }),
    body: null,
    responses: { 200: json(z.strictObject({ entries: z.array(auditEntrySchema) })) },
    streams: null,
  },
  'audit.export': {
    method: 'GET',
    path: '/v1/audit/export',
    summary: 'The whole chain and its checkpoints as lines of JSON, for verifying elsewhere',
    role: 'admin',
    idempotent: true,
    params: nothing,
    query: nothing,
    body: null,
    responses: { 200: bytes('application/jsonl') },
    streams: null,
  },
  'audit.verify': {
    method: 'POST',
    path: '/v1/audit/verifications',
    summary: 'Verify the chain from its first entry, and every checkpoint',
    role: 'admin',
    idempotent: true,
    params: nothing,
    query: nothing,
    body: {
      schema: z.strictObject({
        /** Public keys in PEM that are trusted, and no other; those of this instance where left out. */
        keys: trustedKeys.optional(),
      }),
      maxBytes: trustedKeysBytes,
    },
    responses: {
      200: json(
        z.strictObject({
          entries: z.int().min(0),
          checkpoints: z.int().min(0),
          /** The last entry; null for an empty chain. */
          head: z.strictObject({ seq: z.int(), hash: z.string() }).nullable(),
          /** Number of the last entry that a key vouches for: those after it could be rewritten unseen. */
          signedUpTo: z.int().min(0),
        }),
      ),
    },
    streams: null,
  },
  'audit.checkpoints': {
    method: 'GET',
    path: '/v1/audit/checkpoints',
    summary: 'Signed statements about the chain, oldest first',
    role: 'admin',
    idempotent: true,
    params: nothing,
    query: nothing,
    body: null,
    responses: { 200: json(z.strictObject({ checkpoints: z.array(auditCheckpointSchema) })) },
    streams: null,
  },
} as const satisfies RouteGroup;
