import { z } from 'zod';
import { idPatterns } from './ids.ts';

export const keyListPredicateType = 'urn:glovebox:keys:1';

const keyId = z.string().regex(/^[0-9a-f]{64}$/);
const pem = z.string().max(1024);

/**
 * The keys of an instance, signed by the current one: what to pin in place of a single key where keys are rotated.
 * Retired keys are there to be told apart from unknown ones; what they signed is not accepted for it.
 */
export const keyListSchema = z.strictObject({
  schema: z.literal('glovebox.keys/1'),
  instance: z.string().regex(idPatterns.instance),
  current: z.strictObject({ keyId, pem }),
  /** By the time of retirement, oldest first. */
  retired: z.array(z.strictObject({ keyId, pem, retiredAt: z.iso.datetime() })).max(1000),
});
export type KeyList = z.infer<typeof keyListSchema>;
