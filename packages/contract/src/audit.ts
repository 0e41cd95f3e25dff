import { z } from 'zod';
import { idPatterns } from './ids.ts';

/** What audit tells about. */
export const auditActions = [
  'instance.created',
  'draft.put',
  'draft.validation-began',
  'draft.validation-ended',
  'draft.validation-abandoned',
  'release.published',
  'release.deprecated',
  'release.undeprecated',
  'release.revoked',
  'release.revalidated',
  'attempt.ended',
  'key.rotated',
  'policy.set',
] as const;
export type AuditAction = (typeof auditActions)[number];

/** What a transition hands over; the store adds number, previous hash and hash in the same transaction. */
export const auditEventSchema = z.strictObject({
  /** Milliseconds since the epoch. */
  atMs: z.int().min(0),
  actor: z.string(),
  project: z.string(),
  action: z.enum(auditActions),
  /** The thing: `default/csv-profile` is a draft, `default/csv-profile@1.0.0` a release; or an attempt id, or a project. */
  subject: z.string(),
  /** Digests and reasons; never an input, an output or a secret. */
  details: z.record(z.string(), z.json()),
});
export type AuditEvent = z.infer<typeof auditEventSchema>;

/**
 * An entry of the chain. `hash` is sha256 over the canonical JSON of all other members, in hex with `sha256:` before it;
 * `previous` is the hash of the entry before, or of 64 zeros for the first. `seq` counts from 1 without gaps.
 */
export const auditEntrySchema = auditEventSchema.extend({
  seq: z.int().min(1),
  previous: z.string().regex(/^sha256:[0-9a-f]{64}$/),
  hash: z.string().regex(/^sha256:[0-9a-f]{64}$/),
});
export type AuditEntry = z.infer<typeof auditEntrySchema>;

/** A signed statement that the chain had this hash at this number: in-toto Statement in DSSE, as text. */
export const auditCheckpointSchema = z.strictObject({
  seq: z.int().min(1),
  hash: z.string(),
  envelopeText: z.string(),
});
export type AuditCheckpoint = z.infer<typeof auditCheckpointSchema>;

export const auditCheckpointPredicateType = 'urn:glovebox:audit-checkpoint:1';
export const auditCheckpointPredicateSchema = z.strictObject({
  instance: z.string().regex(idPatterns.instance),
  seq: z.int().min(1),
  hash: z.string().regex(idPatterns.digest),
  at: z.iso.datetime(),
});
export type AuditCheckpointPredicate = z.infer<typeof auditCheckpointPredicateSchema>;
