import { z } from 'zod';
import { idPatterns } from './ids.ts';

/** draft → validating → passed | failed; passed → released. A new revision makes it a draft again. */
export const draftStates = ['draft', 'validating', 'passed', 'failed', 'released'] as const;
export type DraftState = (typeof draftStates)[number];

const digest = z.string().regex(idPatterns.digest);

/** A node package as registered in a project, at one revision. One per project and node id. */
export const draftSchema = z.strictObject({
  project: z.string(),
  id: z.string(),
  /** sha256 of the canonical file list. */
  revision: digest,
  version: z.string(),
  title: z.string(),
  state: z.enum(draftStates),
  createdBy: z.string(),
  createdAt: z.iso.datetime(),
  /** Who changed its revision or state last, and when. */
  updatedBy: z.string(),
  updatedAt: z.iso.datetime(),
  /** Of the artifact, when the revision has passed. */
  artifact: digest.nullable(),
});
export type Draft = z.infer<typeof draftSchema>;

/** A snapshot as it is uploaded: plain files only, so that there is no archive to be fooled by. */
export const snapshotSchema = z.strictObject({
  files: z
    .array(z.strictObject({ path: z.string().min(1).max(1024), contentBase64: z.base64() }))
    .min(1)
    .max(256),
});
export type Snapshot = z.infer<typeof snapshotSchema>;
