import { z } from 'zod';
import { httpRuleSchema } from './manifest.ts';

/** Bounds of a project's egress policy. */
export const egressPolicyLimits = {
  allowances: 256,
  denials: 1024,
  maximumRules: 1000,
  cidrs: 64,
  ports: 32,
} as const;

const hostPattern = /^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** A host by name, `*.` and a name for its sub-domains, or an IPv4 address. Whether it is one in a plain way is judged by packages/egress. */
const policyHost = z.string().max(253).regex(hostPattern, 'must be a lower-case host name, or *. and one');

/** Address and prefix length, such as 10.0.0.0/8 or fd00::/8. Whether it is one is judged on its bytes, by packages/egress. */
const cidr = z
  .string()
  .max(49)
  .regex(/^[0-9a-f.:]+\/\d{1,3}$/, 'must be an address, a slash and a prefix length');

const ruleId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be 1 to 64 of a-z, 0-9, dot, underscore and hyphen');
const reason = z.string().min(1).max(300);

/**
 * What an admin lets the nodes of one project do, beyond and below what their manifests declare.
 *
 * Nothing here grants a request by itself: a manifest has to declare it too.
 */
export const egressPolicySchema = z.strictObject({
  schema: z.literal('glovebox.egress-policy/1').default('glovebox.egress-policy/1'),
  /** Names that may lead to addresses that are not public: only these addresses, only on these ports. */
  allowances: z
    .array(
      z.strictObject({
        id: ruleId,
        host: policyHost,
        cidrs: z.array(cidr).min(1).max(egressPolicyLimits.cidrs),
        ports: z.array(z.int().min(1).max(65_535)).min(1).max(egressPolicyLimits.ports),
        reason,
      }),
    )
    .max(egressPolicyLimits.allowances)
    .default([]),
  /** What no manifest can have: by name, by address, or by both (both must then match). */
  denials: z
    .array(
      z
        .strictObject({ id: ruleId, host: policyHost.optional(), cidr: cidr.optional(), reason })
        .refine(({ host, cidr }) => host !== undefined || cidr !== undefined, 'needs a host or a cidr'),
    )
    .max(egressPolicyLimits.denials)
    .default([]),
  /** The most that any manifest of the project may have; null sets no bound. A request has to match one of these as well. */
  maximum: z
    .strictObject({
      rules: z.array(httpRuleSchema.extend({ id: ruleId })).max(egressPolicyLimits.maximumRules),
    })
    .nullable()
    .default(null),
});
export type EgressPolicy = z.infer<typeof egressPolicySchema>;

/** Of a project for which nobody has set one: public addresses, and what manifests declare. */
export const defaultEgressPolicy: EgressPolicy = egressPolicySchema.parse({});

/** Why a request did not leave, or why it was given up. A closed list; docs/stages/run.md says what each means. */
export const egressReasons = [
  // The request itself
  'URL_REFUSED',
  'PATH_AMBIGUOUS',
  'HEADER_REFUSED',
  // The manifest
  'HTTP_NOT_DECLARED',
  'HOST_NOT_DECLARED',
  'SCHEME_NOT_DECLARED',
  'PORT_NOT_DECLARED',
  'METHOD_NOT_DECLARED',
  'PATH_NOT_DECLARED',
  'WEBSOCKET_NOT_DECLARED',
  'CREDENTIAL_NOT_AVAILABLE',
  // The project's policy
  'DENIED_BY_POLICY',
  'ABOVE_POLICY_MAXIMUM',
  'ADDRESS_NOT_PUBLIC',
  'ADDRESS_NEVER_ALLOWED',
  // The attempt
  'ATTEMPT_ENDED',
  'TOO_MANY_REQUESTS',
  'TOO_MANY_REDIRECTS',
  'RESPONSE_TOO_LARGE',
  'NOT_RECORDED',
  // The other side
  'NAME_NOT_FOUND',
  'CONNECTION_REFUSED',
  'CONNECTION_LOST',
  'TLS_FAILED',
  'PROTOCOL_ERROR',
  'PROXY_FAILED',
  'HEADERS_TOO_LARGE',
  'ENCODING_REFUSED',
  'ENCODING_BROKEN',
  'CONNECT_TIMED_OUT',
  'HEADERS_TIMED_OUT',
  'IDLE_TIMED_OUT',
  'TOTAL_TIMED_OUT',
  // Cassettes
  'CASSETTE_MISS',
] as const;
export type EgressReason = (typeof egressReasons)[number];

/** What was decided of one request, and what came of it. */
export const egressRecordSchema = z.strictObject({
  /** In order of arrival within the attempt, from 1. */
  seq: z.int().min(1),
  at: z.iso.datetime(),
  /** What for: a node's own request, or one of the product, such as `registry`. */
  purpose: z.string(),
  run: z.string().nullable(),
  attempt: z.string().nullable(),
  node: z.string().nullable(),
  method: z.string(),
  scheme: z.string(),
  host: z.string(),
  port: z.int(),
  /** Without the query, which may hold what is nobody's business; cut to 1,024 characters. */
  path: z.string(),
  /** `open` has no end on record: it goes on, or its process died. */
  outcome: z.enum(['open', 'done', 'denied', 'over-budget', 'failed', 'aborted']),
  /** The rule that allowed or denied it; null where none says anything of it. */
  rule: z.string().nullable(),
  reason: z.enum(egressReasons).nullable(),
  /** Where the connection went, the last of them, whether or not an answer came; null where none came about. */
  address: z.string().nullable(),
  protocol: z.string().nullable(),
  status: z.int().nullable(),
  bytesUp: z.int().min(0),
  /** As the node got them: decoded. */
  bytesDown: z.int().min(0),
  durationMs: z.number().min(0).nullable(),
  retries: z.int().min(0),
});
export type EgressRecord = z.infer<typeof egressRecordSchema>;

/** How often the same came of the same kind of request. */
export const egressTallySchema = egressRecordSchema
  .pick({ scheme: true, host: true, port: true, method: true, outcome: true, rule: true, reason: true })
  .extend({ count: z.int().min(1) });
export type EgressTally = z.infer<typeof egressTallySchema>;

/** Who has to agree before a denied request could be allowed. */
export type EgressApprover = 'author' | 'approver' | 'admin' | 'nobody';

/**
 * Header of an answer that is ours and not the origin's: `denied`, `over-budget` or `failed`. It is taken off whatever an
 * origin answers, so that none can speak in our name. The body is an EgressProblem.
 */
export const egressAnswerHeader = 'glovebox-egress';

/** Headers by which a node's context asks something of the broker; they are taken off before anything leaves. */
export const egressRequestHeaders = {
  /** How often a request that is safe to repeat may be, `0` to `5`. */
  retry: 'glovebox-retry',
  /** The slot whose credential is to be put in. */
  credential: 'glovebox-credential',
  /** `websocket`: the body is the byte stream of the connection once the answer is 200. */
  upgrade: 'glovebox-upgrade',
} as const;
