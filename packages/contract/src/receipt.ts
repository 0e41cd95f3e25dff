import { z } from 'zod';
import { egressTallySchema } from './egress.ts';
import { idPatterns } from './ids.ts';
import { attemptStates, fileRecordSchema, peaksSchema, phasesMsSchema } from './run.ts';

export const receiptPredicateType = 'urn:glovebox:attempt-receipt:1';
export const statementType = 'https://in-toto.io/Statement/v1';
export const statementMediaType = 'application/vnd.in-toto+json';

const digest = z.string().regex(idPatterns.digest);

/**
 * What one attempt was and did. `observed` was seen by the host; `claimed` was said by the cell and is only as good as
 * the node in it.
 */
export const receiptPredicateSchema = z.strictObject({
  attempt: z.string().regex(idPatterns.attempt),
  run: z.string().regex(idPatterns.run),
  instance: z.string().regex(idPatterns.instance),
  project: z.string(),
  actor: z.string(),
  mode: z.enum(['trial', 'release']),
  node: z.strictObject({
    id: z.string(),
    version: z.string(),
    /** sha256 of the canonical file list of the package. */
    revision: digest,
    bundle: digest,
    /** The release that was run; null in a trial. */
    release: z.strictObject({ ref: z.string(), digest }).nullable(),
  }),
  observed: z.strictObject({
    state: z.enum(attemptStates),
    errorCode: z.string().nullable(),
    startedAt: z.iso.datetime(),
    endedAt: z.iso.datetime(),
    phasesMs: phasesMsSchema,
    image: digest,
    plan: digest,
    class: z.string(),
    driver: z.strictObject({ name: z.string(), runtime: z.string(), version: z.string() }),
    /** Properties of the cell that the driver put in force, by name; a missing name means it was not in force. */
    properties: z.array(z.string()),
    acceptedRisks: z.array(z.string()),
    permissions: digest,
    limits: z.record(z.string(), z.number()),
    peaks: peaksSchema,
    exit: z.strictObject({ code: z.int().nullable(), signal: z.string().nullable() }).nullable(),
    inputDigest: digest,
    configDigest: digest,
    outputDigest: digest.nullable(),
    logBytes: z.int(),
    logDigest: digest,
    files: z.array(fileRecordSchema),
    egress: z.strictObject({
      requests: z.int(),
      decisions: z.array(egressTallySchema),
      /** The project's policy that requests were held to. Absent where the manifest declares no http. */
      policy: z.strictObject({ revision: z.int().min(0), digest }).exactOptional(),
      /** There where a recording answered in a trial: nothing left, whatever was decided. */
      source: z.literal('cassette').exactOptional(),
    }),
    slots: z.array(z.string()),
  }),
  claimed: z.strictObject({ errorCode: z.string().nullable(), errorMessage: z.string().nullable() }),
});
export type ReceiptPredicate = z.infer<typeof receiptPredicateSchema>;

export const receiptStatementSchema = z.strictObject({
  _type: z.literal(statementType),
  subject: z
    .array(z.strictObject({ name: z.string(), digest: z.strictObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/) }) }))
    .length(1),
  predicateType: z.literal(receiptPredicateType),
  predicate: receiptPredicateSchema,
});
export type ReceiptStatement = z.infer<typeof receiptStatementSchema>;

/** DSSE envelope (github.com/secure-systems-lab/dsse): payload and signatures are base64. */
export const envelopeSchema = z.strictObject({
  payloadType: z.literal(statementMediaType),
  payload: z.base64(),
  signatures: z
    .array(z.strictObject({ keyid: z.string(), sig: z.base64() }))
    .min(1)
    .max(8),
});
export type Envelope = z.infer<typeof envelopeSchema>;
