import type { Release } from '@glovebox/contract';
import type { Engine } from '../engine.ts';

/** Most releases of one answer. */
export const maxReleases = 200;

/**
 * Releases of one project in every state, by id, then newest version first.
 *
 * @param query `after` names the last release that was read; `limit` at most maxReleases.
 */
export function listReleases(
  { releases }: Pick<Engine, 'releases'>,
  query: { project: string; id?: string; after?: { id: string; version: string }; limit?: number },
): Promise<Release[]> {
  return releases.list({ ...query, limit: Math.min(query.limit ?? maxReleases, maxReleases) });
}
