import { z } from 'zod';
import { type ErrorCode, errorCodes } from '../error-catalogue.ts';
import { editSchema } from '../report.ts';
import { jsonValue } from './route.ts';

export const errorCodeSchema = z.enum(errorCodes as [ErrorCode, ...ErrorCode[]]);

export const placeSchema = z.strictObject({
  file: z.string().exactOptional(),
  path: z.string().exactOptional(),
  line: z.int().exactOptional(),
  column: z.int().exactOptional(),
});

/** An error of ours as data. */
export const errorDataSchema = z.strictObject({
  code: errorCodeSchema,
  message: z.string(),
  hint: z.string().exactOptional(),
  place: placeSchema.exactOptional(),
  details: jsonValue.exactOptional(),
});

/** A finding as it is told while a check goes on. */
export const findingSchema = z.strictObject({
  rule: errorCodeSchema,
  severity: z.enum(['error', 'warning', 'notice']),
  message: z.string(),
  hint: z.string(),
  place: placeSchema,
  fix: z.strictObject({ title: z.string(), edits: z.array(editSchema) }).exactOptional(),
});
