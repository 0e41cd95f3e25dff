import { z } from 'zod';
import { idPatterns } from '../ids.ts';
import type { Json } from '../json.ts';

/** What a principal may do. A route asks for one of them; none includes another. */
export const roles = ['viewer', 'author', 'publisher', 'runner', 'approver', 'credential-admin', 'admin'] as const;
export type Role = (typeof roles)[number];

/** What a route answers when all went well. Whatever went wrong is a problem, on every route alike: see problem.ts. */
export type Success =
  | { kind: 'json'; schema: z.ZodType }
  /** Bytes as they are stored. Their media type is ours: what a node says of a file is told beside it, never served. */
  | { kind: 'bytes'; mediaType: string };

/** One operation of the API, as data: server, client and documents derive from it. */
export interface Route {
  method: 'GET' | 'PUT' | 'POST' | 'PATCH' | 'DELETE';
  /** A part that begins with a colon is a parameter. */
  path: `/v1/${string}`;
  summary: string;
  role: Role;
  /** Whether a caller that got no answer may send it again. */
  idempotent: boolean;
  /** A path whose parameters do not match it names nothing: `NOT_FOUND`. */
  params: z.ZodObject;
  query: z.ZodObject;
  /** JSON. `maxBytes` is held before anything of it is parsed. */
  body: { schema: z.ZodObject; maxBytes: number } | null;
  /** Exactly one. */
  responses: { 200: Success } | { 201: Success };
  /**
   * What is told meanwhile to whoever accepts `text/event-stream`. Such a stream begins with `accepted`, and ends with
   * `result`, which holds what JSON would have been answered, or with `problem`.
   */
  streams: z.ZodType<{ event: string }> | null;
}

/** A table of routes by name, such as `runs.list`. */
export type RouteGroup = { readonly [name: `${string}.${string}`]: Route };

export const json = <Schema extends z.ZodType>(schema: Schema) => ({ kind: 'json', schema }) as const;
export const bytes = (mediaType: string) => ({ kind: 'bytes', mediaType }) as const;

/**
 * Any JSON value, untouched. A schema that looked into it would copy it, and lose `__proto__`, which is data like any
 * other name; that it is JSON is known from the parser.
 */
export const jsonValue: z.ZodType<Json, Json> = z.custom<Json>((value) => value !== undefined);

export const digest = z.string().regex(idPatterns.digest);
export const project = z.string().regex(idPatterns.project);
export const nodeId = z.string().regex(idPatterns.node);
export const projectParams = z.strictObject({ project });
export const nothing = z.strictObject({});

/** A whole number in a query. */
export const whole = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .pipe(z.int().min(min).max(max));

export const flag = z.enum(['true', 'false']).transform((text) => text === 'true');

/** The first event of every stream. `operation` is what `operations.cancel` takes. */
export const acceptedEvent = z.strictObject({ event: z.literal('accepted'), operation: z.string() });

/**
 * `events` were left out here because the reader is slower than what is told; the record has them. A reader costs a server a
 * bounded amount of memory.
 */
export const skippedEvent = z.strictObject({ event: z.literal('skipped'), events: z.int().min(1) });

/** What is being done now; `detail` says with what, such as a line about the image that is made on first use. */
export const stepEvent = z.strictObject({
  event: z.literal('step'),
  step: z.enum([
    'read',
    'resolve',
    'image',
    'check',
    'restore',
    'bundle',
    'boot',
    'load',
    'run',
    'teardown',
    'fixtures',
  ]),
  detail: z.string().exactOptional(),
});

/** Bytes of a body of a few short fields. */
export const smallBodyBytes = 64 * 1024;

/** A snapshot at its limits: 32 MiB in base64, and 256 paths. */
export const snapshotBodyBytes = 45 * 1024 * 1024;

export const trustedKeys = z.array(z.string().max(4096)).min(1).max(64);
/** Of a body with such keys. */
export const trustedKeysBytes = 2 * 64 * 4096 + smallBodyBytes;

/** As key lists name them: two full ones. */
export const retiredKeys = z.array(z.string().max(1024)).max(200);
/** That much more of a body. */
export const retiredKeysBytes = 2 * 200 * 1024;
