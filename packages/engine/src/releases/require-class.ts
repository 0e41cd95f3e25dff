import { type CellClass, GloveboxError, isAsStrong, type Json, minimumClassSchema } from '@glovebox/contract';

/**
 * Hold a run to the isolation class that a release's permissions demand. Permissions that cannot be read demand more than
 * anybody has.
 *
 * @throws GloveboxError `CLASS_TOO_WEAK`.
 */
export function requireClass(ref: string, permissions: Json, cellClass: CellClass): void {
  const { success, data } = minimumClassSchema.safeParse(permissions);
  if (success && isAsStrong(cellClass, data.minimumClass)) return;
  const demanded = success ? data.minimumClass : 'a class that is not known here';
  throw new GloveboxError('CLASS_TOO_WEAK', {
    message: `${ref} demands ${demanded}; cells are ${cellClass} here.`,
  });
}
