import type { EgressRecord } from '@glovebox/contract';
import type { Engine } from '../engine.ts';

/** Most records of one answer. */
export const maxEgressRecords = 1000;

/** Requests of a project's nodes, newest first. `before` is the cursor of the last one that was read. */
export function listEgress(
  { egressLog }: Pick<Engine, 'egressLog'>,
  query: {
    project: string;
    limit?: number;
    before?: string;
    run?: string;
    host?: string;
    outcome?: EgressRecord['outcome'];
  },
): Promise<(EgressRecord & { cursor: string })[]> {
  return egressLog.list({ ...query, limit: Math.min(query.limit ?? 100, maxEgressRecords) });
}
