import { z } from 'zod';
import { idPatterns } from './ids.ts';

const digest = z.string().regex(idPatterns.digest);

export const releaseStates = ['active', 'deprecated', 'revoked'] as const;
export type ReleaseState = (typeof releaseStates)[number];

/** `project/id@version` → artifact, image and permissions. Never changes but for its state and, by revalidation, the image. */
export const releaseSchema = z.strictObject({
  ref: z.string(),
  project: z.string(),
  id: z.string(),
  version: z.string(),
  title: z.string(),
  /** Digest of the artifact manifest. */
  digest,
  revision: digest,
  /** Digest of the runtime image that it was validated in. */
  image: digest,
  /** Digest of the canonical permissions that were published. */
  permissions: digest,
  state: z.enum(releaseStates),
  /** Why it is deprecated or revoked. */
  reason: z.string().nullable(),
  publishedBy: z.string(),
  publishedAt: z.iso.datetime(),
  changedAt: z.iso.datetime(),
});
export type Release = z.infer<typeof releaseSchema>;
