import type { CellEnd } from '@glovebox/cell';
import type { EngineApi } from './engine-api.ts';

/** What a cell used, as far as anybody saw. */
export interface CellUse {
  peakMemoryBytes: number | null;
  peakPids: number | null;
  pidsLimitHit: boolean;
  oomKilled: boolean;
}

/** Looks at what a cell uses while it can be seen: an engine forgets it when the container stops. */
export interface UseWatch {
  /** Resolves when the kill may be sent. Never rejects. */
  beforeKill(cause: CellEnd['cause']): Promise<void>;
  final(): Promise<CellUse>;
}

/** A cell that has done its work waits this long for the last look at it, and no other waits at all. */
const lastLookMs = 250;

export function watchUse(api: EngineApi, container: string, pidsLimit: number): UseWatch {
  const use: CellUse = { peakMemoryBytes: null, peakPids: null, pidsLimitHit: false, oomKilled: false };
  return {
    async beforeKill(cause) {
      if (cause !== 'done') return;
      const stats = await api.stats(container, lastLookMs).catch(() => undefined);
      const peak = stats?.memory_stats?.max_usage;
      if (peak !== undefined && peak > 0) use.peakMemoryBytes = peak;
      if ((stats?.pids_stats?.current ?? 0) >= pidsLimit) use.pidsLimitHit = true;
    },
    final: () => Promise.resolve(use),
  };
}
