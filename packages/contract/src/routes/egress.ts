import { z } from 'zod';
import { egressPolicySchema, egressReasons, egressRecordSchema } from '../egress.ts';
import { idPatterns } from '../ids.ts';
import { httpRuleSchema } from '../manifest.ts';
import { digest, json, jsonValue, nothing, projectParams, type RouteGroup, smallBodyBytes, whole } from './route.ts';

const policyViewSchema = z.strictObject({
  policy: egressPolicySchema,
  /** Counts up from 1; 0 is the policy of a project for which nobody has set one. */
  revision: z.int().min(0),
  /** Of the canonical JSON of the policy. */
  digest,
  /** Milliseconds since the epoch; null where nobody has set one. */
  changedAtMs: z.number().nullable(),
  changedBy: z.string().nullable(),
});
export type EgressPolicyView = z.infer<typeof policyViewSchema>;

/** What a policy changes of what may leave, a line for each. */
const policyChangesSchema = z.strictObject({ widens: z.array(z.string()), narrows: z.array(z.string()) });
export type EgressPolicyChangesView = z.infer<typeof policyChangesSchema>;

/** What would be decided of a request. Nothing of it was sent. */
const verdictSchema = z.strictObject({
  allowed: z.boolean(),
  /** As the URL was read; null where it was refused. */
  request: z
    .strictObject({
      method: z.string(),
      scheme: z.string(),
      host: z.string(),
      port: z.int(),
      path: z.string(),
      websocket: z.boolean(),
    })
    .nullable(),
  /** Whose rules it was held to: a release, rules that were sent, or none but the policy, as if a manifest had declared it. */
  declaredBy: z.enum(['release', 'rules', 'nobody']),
  /** The rule that allows or denies it; null where none says anything of it. */
  rule: z.string().nullable(),
  reason: z.enum(egressReasons).nullable(),
  hint: z.string().nullable(),
  /** What would allow it, as a JSON merge of `capabilities.http`; null where no manifest can. */
  patch: jsonValue.nullable(),
  /** Who would have to agree; null where nobody has to. */
  approver: z.enum(['author', 'approver', 'admin', 'nobody']).nullable(),
  /** Ids of the allowances whose host and port match: addresses of theirs need not be public. */
  allowances: z.array(z.string()),
  /** What the name leads to now; null where it was not looked up. One that is refused refuses the request. */
  addresses: z
    .array(
      z.strictObject({
        address: z.string(),
        allowed: z.boolean(),
        reason: z.enum(egressReasons).nullable(),
        rule: z.string().nullable(),
        why: z.string().nullable(),
      }),
    )
    .nullable(),
  /** Revision of the policy that was asked. */
  revision: z.int().min(0),
});
export type EgressVerdictView = z.infer<typeof verdictSchema>;

const listedRecordSchema = egressRecordSchema.extend({ cursor: z.string() });
export type EgressRecordView = z.infer<typeof listedRecordSchema>;

/** A policy at its limits would be longer; one that people have a view of is not. */
const policyBytes = 2 * 1024 * 1024;

export const egressRoutes = {
  'policy.get': {
    method: 'GET',
    path: '/v1/projects/:project/egress-policy',
    summary: 'What nodes of a project may do beyond and below what their manifests declare',
    role: 'viewer',
    idempotent: true,
    params: projectParams,
    query: nothing,
    body: null,
    responses: { 200: json(policyViewSchema) },
    streams: null,
  },
  'policy.set': {
    method: 'PUT',
    path: '/v1/projects/:project/egress-policy',
    summary: 'Set the egress policy of a project; runs that have begun keep the one that they began with',
    role: 'admin',
    idempotent: true,
    params: projectParams,
    query: nothing,
    body: {
      schema: z.strictObject({
        policy: egressPolicySchema,
        /** The revision that this one is to follow; another one is `EGRESS_POLICY_STALE`. */
        expectedRevision: z.int().min(0),
        /** Whether it may let more through than the one before; without it that is `EGRESS_POLICY_WIDER`, and nothing is changed. */
        widening: z.enum(['refused', 'confirmed']).default('refused'),
      }),
      maxBytes: policyBytes,
    },
    responses: {
      200: json(
        policyViewSchema.extend({
          /** False when it is what was there before: there is no new revision then. */
          changed: z.boolean(),
          changes: policyChangesSchema,
        }),
      ),
    },
    streams: null,
  },
  'policy.check': {
    method: 'POST',
    path: '/v1/projects/:project/egress-policy/checks',
    summary: 'Tell what would be decided of a request, and by which rule; it is not sent',
    role: 'author',
    idempotent: true,
    params: projectParams,
    query: nothing,
    body: {
      schema: z.strictObject({
        method: z.string().min(1).max(40),
        url: z
          .string()
          .min(1)
          .max(16 * 1024),
        websocket: z.boolean().default(false),
        /** Held to the permissions of this release: `id`, `id@1.2.3` or `id@sha256:…`. */
        node: z.string().min(1).max(300).optional(),
        /** Held to these rules of a manifest, and not to a release; an empty list is a manifest that declares no http. */
        rules: z.array(httpRuleSchema).max(100).optional(),
        /** `look-up`: judge the addresses that the name leads to as well, where the name is allowed. */
        addresses: z.enum(['none', 'look-up']).default('none'),
      }),
      maxBytes: 100 * smallBodyBytes,
    },
    responses: { 200: json(verdictSchema) },
    streams: null,
  },
  'egress.list': {
    method: 'GET',
    path: '/v1/projects/:project/egress',
    summary: 'Requests of nodes, newest first: what was decided, and what came of it',
    role: 'viewer',
    idempotent: true,
    params: projectParams,
    query: z.strictObject({
      limit: whole(1, 1000).optional(),
      /** The cursor of the last record that was read. */
      before: z
        .string()
        .regex(/^\d{1,15}$/)
        .optional(),
      run: z.string().regex(idPatterns.run).optional(),
      host: z.string().min(1).max(253).optional(),
      outcome: egressRecordSchema.shape.outcome.optional(),
    }),
    body: null,
    responses: { 200: json(z.strictObject({ records: z.array(listedRecordSchema) })) },
    streams: null,
  },
} as const satisfies RouteGroup;
