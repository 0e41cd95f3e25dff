import { z } from 'zod';
import { cassetteFileLimits, cassetteName } from '../cassette.ts';
import { progressSchema } from '../control.ts';
import { snapshotSchema } from '../draft.ts';
import { idPatterns } from '../ids.ts';
import { receiptStatementSchema } from '../receipt.ts';
import { releaseSchema } from '../release.ts';
import { attemptStates } from '../run.ts';
import { errorDataSchema, findingSchema } from './error-view.ts';
import {
  acceptedEvent,
  bytes,
  flag,
  json,
  nodeId,
  nothing,
  project,
  projectParams,
  type RouteGroup,
  retiredKeys,
  retiredKeysBytes,
  skippedEvent,
  smallBodyBytes,
  snapshotBodyBytes,
  stepEvent,
  trustedKeys,
  trustedKeysBytes,
  whole,
} from './route.ts';
import {
  apiLogRecordSchema,
  journalEntrySchema,
  numberedLogSchema,
  runResultSchema,
  runSummarySchema,
  runViewSchema,
} from './run-views.ts';

const run = z.string().regex(idPatterns.run);
const attempt = z.string().regex(idPatterns.attempt);
const runParams = z.strictObject({ project, run });

/**
 * Input and config as JSON texts in JSON strings: what is recorded and digested is the text as it was given, and no number
 * in it is changed by a parser on the way.
 */
const values = { inputText: z.string(), configText: z.string() };
/** Two texts of 16 MiB; as a string, a JSON text is at most twice as long. */
const valuesBytes = 2 * 2 * 16 * 1024 * 1024;

/** Who answers the requests of a trial: origins; origins, and their answers are recorded; or a cassette of the package. */
const trialHttp = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('live') }),
  z.strictObject({ kind: z.literal('record') }),
  /** Null: every request is a miss. */
  z.strictObject({ kind: z.literal('replay'), cassette: z.string().regex(cassetteName).nullable() }),
]);

/** What came of a recording, or of a cassette that was played. */
const trialCassette = z.discriminatedUnion('kind', [
  /** The whole file. */
  z.strictObject({ kind: z.literal('recorded'), text: z.string().max(cassetteFileLimits.maxBytes) }),
  z.strictObject({ kind: z.literal('not-recorded'), error: errorDataSchema }),
  /** Errors are requests that the cassette has not; a warning is about entries that nothing asked for. */
  z.strictObject({ kind: z.literal('replayed'), findings: z.array(findingSchema) }),
]);

/** What a run tells while it goes on, in the order in which it happens. */
export const runEventSchema = z.discriminatedUnion('event', [
  acceptedEvent,
  skippedEvent,
  stepEvent,
  /** What is odd about the package or its build, and hinders nothing. */
  z.strictObject({ event: z.literal('warning'), finding: findingSchema }),
  /** It runs, and its owner advises against it. */
  z.strictObject({ event: z.literal('deprecated'), release: releaseSchema }),
  /** It is recorded from here on. */
  z.strictObject({ event: z.literal('run'), run, attempt }),
  z.strictObject({ event: z.literal('log'), record: apiLogRecordSchema }),
  z.strictObject({ event: z.literal('progress'), progress: progressSchema }),
]);
export type RunEvent = z.infer<typeof runEventSchema>;

export const runRoutes = {
  'trials.run': {
    method: 'POST',
    path: '/v1/projects/:project/trials',
    summary: 'Run a node package once as it is uploaded, unpublished',
    role: 'author',
    idempotent: false,
    params: projectParams,
    query: nothing,
    body: {
      schema: z.strictObject({ snapshot: snapshotSchema, ...values, http: trialHttp.exactOptional() }),
      maxBytes: snapshotBodyBytes + valuesBytes,
    },
    responses: { 200: json(runResultSchema.extend({ cassette: trialCassette.exactOptional() })) },
    streams: runEventSchema,
  },
  'runs.start': {
    method: 'POST',
    path: '/v1/projects/:project/runs',
    summary: 'Run a release by reference',
    role: 'runner',
    idempotent: false,
    params: projectParams,
    query: nothing,
    body: {
      schema: z.strictObject({ reference: z.string().max(300), ...values }),
      maxBytes: valuesBytes + smallBodyBytes,
    },
    responses: { 200: json(runResultSchema.extend({ release: releaseSchema })) },
    streams: runEventSchema,
  },
  'runs.list': {
    method: 'GET',
    path: '/v1/projects/:project/runs',
    summary: 'Runs, newest first',
    role: 'viewer',
    idempotent: true,
    params: projectParams,
    query: z.strictObject({
      limit: whole(1, 1000).optional(),
      before: run.optional(),
      node: nodeId.optional(),
      state: z.enum(attemptStates).optional(),
    }),
    body: null,
    responses: { 200: json(z.strictObject({ runs: z.array(runSummarySchema) })) },
    streams: null,
  },
  'runs.get': {
    method: 'GET',
    path: '/v1/projects/:project/runs/:run',
    summary: 'A run with its attempts',
    role: 'viewer',
    idempotent: true,
    params: runParams,
    query: nothing,
    body: null,
    responses: { 200: json(runViewSchema) },
    streams: null,
  },
  'runs.logs': {
    method: 'GET',
    path: '/v1/projects/:project/runs/:run/logs',
    summary: 'Log records of the last attempt; as a stream all of them, and with follow until the attempt has ended',
    role: 'viewer',
    idempotent: true,
    params: runParams,
    query: z.strictObject({
      /** Number of the last record that was read. */
      after: whole(0, Number.MAX_SAFE_INTEGER).optional(),
      /** At most so many, of a page that is no stream. */
      limit: whole(1, 1000).optional(),
      /** Begin with the last so many. */
      tail: whole(0, 999_999_999).optional(),
      follow: flag.optional(),
    }),
    body: null,
    responses: {
      200: json(z.strictObject({ run, attempt, state: z.enum(attemptStates), records: z.array(numberedLogSchema) })),
    },
    streams: z.discriminatedUnion('event', [
      acceptedEvent,
      skippedEvent,
      z.strictObject({ event: z.literal('log'), record: numberedLogSchema }),
    ]),
  },
  'runs.journal': {
    method: 'GET',
    path: '/v1/projects/:project/runs/:run/journal',
    summary: 'State transitions of a run, in order',
    role: 'viewer',
    idempotent: true,
    params: runParams,
    query: nothing,
    body: null,
    responses: { 200: json(z.strictObject({ entries: z.array(journalEntrySchema) })) },
    streams: null,
  },
  'runs.receipt': {
    method: 'GET',
    path: '/v1/projects/:project/runs/:run/receipt',
    summary: 'The receipt of the last attempt, byte for byte',
    role: 'viewer',
    idempotent: true,
    params: runParams,
    query: nothing,
    body: null,
    responses: { 200: bytes('application/vnd.dsse.envelope.v1+json') },
    streams: null,
  },
  'runs.file': {
    method: 'GET',
    path: '/v1/projects/:project/runs/:run/files/:name',
    summary: 'A file that a run wrote',
    role: 'viewer',
    idempotent: true,
    params: runParams.extend({ name: z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/) }),
    query: nothing,
    body: null,
    responses: { 200: bytes('application/octet-stream') },
    streams: null,
  },
  'runs.verify': {
    method: 'POST',
    path: '/v1/projects/:project/runs/:run/verifications',
    summary: 'Verify the receipt of a run, and hold it against the record',
    role: 'viewer',
    idempotent: true,
    params: runParams,
    query: nothing,
    body: {
      schema: z.strictObject({
        /** Public keys in PEM that are trusted, and no other; those of this instance where left out. */
        keys: trustedKeys.optional(),
        /** Public keys in PEM that once were: a receipt by one of them is refused as `KEY_RETIRED`. */
        retired: retiredKeys.optional(),
      }),
      maxBytes: trustedKeysBytes + retiredKeysBytes,
    },
    responses: { 200: json(z.strictObject({ keyId: z.string(), statement: receiptStatementSchema })) },
    streams: null,
  },
} as const satisfies RouteGroup;
