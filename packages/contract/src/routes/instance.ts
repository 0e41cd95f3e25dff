import { z } from 'zod';
import { idPatterns } from '../ids.ts';
import { json, nothing, projectParams, type RouteGroup } from './route.ts';

export const instanceRoutes = {
  'instance.get': {
    method: 'GET',
    path: '/v1/instance',
    summary: 'Which instance this is, and what it runs nodes in',
    role: 'viewer',
    idempotent: true,
    params: nothing,
    query: nothing,
    body: null,
    responses: {
      200: json(
        z.strictObject({
          instance: z.string().regex(idPatterns.instance),
          /** Key that signs now. */
          keyId: z.string(),
          projects: z.array(z.string()),
          driver: z.string(),
          /** Digest of the runtime image; null where none is made yet. */
          image: z.string().regex(idPatterns.digest).nullable(),
        }),
      ),
    },
    streams: null,
  },
  'instance.health': {
    method: 'GET',
    path: '/v1/health',
    summary: 'Whether the store answers',
    role: 'viewer',
    idempotent: true,
    params: nothing,
    query: nothing,
    body: null,
    responses: { 200: json(z.strictObject({ healthy: z.literal(true) })) },
    streams: null,
  },
  'keys.list': {
    method: 'GET',
    path: '/v1/keys',
    summary: 'Public keys of this instance: the current one and those that are retired',
    role: 'viewer',
    idempotent: true,
    params: nothing,
    query: nothing,
    body: null,
    responses: {
      200: json(
        z.strictObject({
          /** In PEM. The current one first, then those that are retired. */
          keys: z.array(z.string()).min(1),
        }),
      ),
    },
    streams: null,
  },
  'operations.cancel': {
    method: 'DELETE',
    path: '/v1/projects/:project/operations/:operation',
    summary: 'Wind up what a stream is about; the stream goes on to its end',
    // Its id cannot be guessed, and is told to nobody but who began it.
    role: 'viewer',
    idempotent: true,
    params: projectParams.extend({ operation: z.string().regex(/^op_[0-9a-hjkmnp-tv-z]{22}$/) }),
    query: z.strictObject({
      /** Told to the node, in a few words. */
      reason: z.string().min(1).max(200).optional(),
    }),
    body: null,
    responses: {
      200: json(
        z.strictObject({
          /** False when it is over already. */
          cancelling: z.boolean(),
        }),
      ),
    },
    streams: null,
  },
} as const satisfies RouteGroup;
