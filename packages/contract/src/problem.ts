import { z } from 'zod';
import { type ErrorCode, errorCatalogue } from './error-catalogue.ts';
import { type ErrorData, GloveboxError } from './errors.ts';
import { errorDataSchema } from './routes/error-view.ts';

export const problemMediaType = 'application/problem+json';

/** An error as the API tells it: RFC 9457, with our error beside its members. `detail` is the message. */
export const problemSchema = errorDataSchema.omit({ message: true }).extend({
  type: z.string(),
  title: z.string(),
  status: z.int().min(400).max(599),
  detail: z.string(),
});
export type Problem = z.infer<typeof problemSchema>;

/** Codes whose status says more than that of their exit. */
const statuses: { readonly [code in ErrorCode]?: number } = {
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  DRAFT_BUSY: 409,
  DRAFT_STALE: 409,
  EGRESS_POLICY_STALE: 409,
  VERSION_EXISTS: 409,
  NOT_VALIDATED: 409,
  RUNTIME_IMAGE_CHANGED: 409,
  RELEASE_REVOKED: 410,
  REQUEST_TOO_LARGE: 413,
  DISK_FULL: 507,
};

const exitStatuses = { 1: 422, 2: 400, 3: 503, 4: 403, 70: 500, 130: 503 } as const;

/** The HTTP status of an error: by its code where that says more, else by what it means for a caller. */
export function problemStatus(code: ErrorCode): number {
  const { exit, kind } = errorCatalogue[code];
  // What may be tried again is no fault of the request.
  return statuses[code] ?? (exit === 1 && kind === 'retry' ? 503 : exitStatuses[exit]);
}

export function toProblem({ code, message, ...rest }: ErrorData): Problem {
  return {
    type: `urn:glovebox:error:${code}`,
    title: errorCatalogue[code].summary,
    status: problemStatus(code),
    detail: message,
    code,
    ...rest,
  } as Problem;
}

export function fromProblem({ code, detail, hint, place, details }: Problem): GloveboxError {
  return new GloveboxError(code, {
    message: detail,
    ...(hint === undefined ? {} : { hint }),
    ...(place === undefined ? {} : { place: place as NonNullable<ErrorData['place']> }),
    ...(details === undefined ? {} : { details }),
  });
}
