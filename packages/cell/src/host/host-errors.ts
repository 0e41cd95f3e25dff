import { type ErrorCode, GloveboxError } from '@glovebox/contract';

/** The errno name of a failed file operation, such as ENOSPC; `''` for anything else. */
export const errnoOf = (thrown: unknown): string => (thrown as NodeJS.ErrnoException | null)?.code ?? '';

/**
 * A failed file operation on the host as a typed error. A full disk is told apart, since it is the one that mends itself.
 *
 * @param fallback what any other failure means at this place.
 */
export function hostError(thrown: unknown, fallback: ErrorCode, what: string): GloveboxError {
  if (thrown instanceof GloveboxError) return thrown;
  const errno = errnoOf(thrown);
  const code = errno === 'ENOSPC' || errno === 'EDQUOT' ? 'DISK_FULL' : fallback;
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return new GloveboxError(code, { message: `${what}: ${reason}`, cause: thrown });
}
