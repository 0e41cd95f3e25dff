import type { CellEnd } from '@glovebox/cell';
import type { EngineApi } from './engine-api.ts';
import { tellsOfRefusedProcess } from './kernel-log.ts';
import { findLocalCgroup } from './local-cgroup.ts';

/** What a cell used, as far as anybody saw. */
export interface CellUse {
  peakMemoryBytes: number | null;
  peakPids: number | null;
  pidsLimitHit: boolean;
  oomKilled: boolean;
}

/** Looks at what a cell uses while it can be seen: kernel and engine forget it when the container is dead. */
export interface UseWatch {
  /** To be called whenever it may be the last time: what the kernel counted so far. Takes no time. */
  look(): void;
  /** Resolves when the kill may be sent. Never rejects. */
  beforeKill(cause: CellEnd['cause']): Promise<void>;
  /** Ends the watch. `failed`: the cell ended by itself, and not well. Never rejects. */
  final(how: 'ended' | 'failed'): Promise<CellUse>;
}

/**
 * The kernel's count goes with the container, some 50 ms after its death and before an engine tells of that: who has not
 * looked by then knows nothing. A cell that is refused a thread is dead a moment later, as a rule.
 */
const lookEveryMs = 20;

/** Where only the engine can tell: a cell that has done its work waits this long for that, and no other waits at all. */
const lastLookMs = 250;

/**
 * The kernel's own count where the engine is on this host. Elsewhere what the engine last told: that it had as many processes
 * as it may counts as having hit that limit, and what nobody saw is not made up.
 */
export function watchUse(api: EngineApi, container: string, pidsLimit: number): UseWatch {
  const use: CellUse = { peakMemoryBytes: null, peakPids: null, pidsLimitHit: false, oomKilled: false };
  const cgroup = findLocalCgroup(container);
  let isOver = false;
  const look = (): void => {
    if (isOver) return;
    const count = cgroup?.read();
    if (count === undefined) return;
    use.peakMemoryBytes = count.peakMemoryBytes ?? use.peakMemoryBytes;
    use.peakPids = count.peakPids ?? use.peakPids;
    use.pidsLimitHit ||= (count.pidsRefused ?? 0) > 0;
    use.oomKilled ||= (count.oomKills ?? 0) > 0;
  };
  const timer = cgroup === undefined ? undefined : setInterval(look, lookEveryMs).unref();
  return {
    look,
    async beforeKill(cause) {
      look();
      if (cause !== 'done' || cgroup !== undefined) return;
      const stats = await api.stats(container, lastLookMs).catch(() => undefined);
      const peak = stats?.memory_stats?.max_usage;
      if (peak !== undefined && peak > 0) use.peakMemoryBytes = peak;
      if ((stats?.pids_stats?.current ?? 0) >= pidsLimit) use.pidsLimitHit = true;
    },
    async final(how) {
      isOver = true;
      clearInterval(timer);
      cgroup?.close();
      // A busy host may look too late at a cell that fails at once for what it is refused.
      if (how === 'failed' && cgroup !== undefined && !use.pidsLimitHit)
        use.pidsLimitHit = await tellsOfRefusedProcess(container);
      return use;
    },
  };
}
