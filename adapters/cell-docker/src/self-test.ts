import { setTimeout as sleep } from 'node:timers/promises';
import { type CellFacts, type ConformanceResult, probeCell } from '@glovebox/cell';
import { type CellPlan, GloveboxError } from '@glovebox/contract';
import { type BootContext, type BootedCell, bootCell } from './boot.ts';
import type { EngineApi } from './engine-api.ts';
import { judgeLimitsByEffect } from './limits-by-effect.ts';
import { profileOf } from './profile.ts';

/** What a live probe showed of an engine: what a cell saw of itself, and what the engine's host counts of it. */
export interface EngineProbe {
  facts: CellFacts;
  results: ConformanceResult[];
}

/**
 * Boot a probe cell on an engine and judge it.
 *
 * @throws GloveboxError as `boot` does, `CELL_BOOT_FAILED`, `HOST_UNSUPPORTED`.
 */
export async function probeEngine(context: BootContext, image: string): Promise<EngineProbe> {
  let limits: Promise<ConformanceResult[]> = Promise.resolve([]);
  let booted: BootedCell | undefined;
  const { facts, results } = await probeCell({
    image,
    class: context.facts.class,
    boot: async (plan, id) => {
      booted = await bootCell(context, plan, id);
      if (context.facts.class !== 'ns') limits = judgeLimits(context.api, booted.container, plan);
      limits.catch(() => undefined);
      return booted;
    },
    profileOf: () => profileOf(context.facts, booted?.uid ?? 0),
  });
  // A kernel in user space counts threads of its own, and not those that a cell asks for.
  if (context.facts.class === 'ns') limits = judgeLimitsByEffect(context, image);
  return { facts, results: [...results, ...(await limits)] };
}

/**
 * Before an engine runs anything for us: does it do what it is told, or only say so?
 *
 * @throws GloveboxError `ENGINE_REFUSED` that names each property that is not in force.
 */
export async function testEngine(context: BootContext, image: string): Promise<void> {
  const { results } = await probeEngine(context, image);
  const lacking = results.filter(({ violations }) => violations.length > 0);
  if (lacking.length === 0) return;
  const said = lacking.map(({ property, violations }) => `${property} (${violations.slice(0, 2).join('; ')})`);
  throw new GloveboxError('ENGINE_REFUSED', {
    message: `The container engine does not keep cells to what it was told: ${said.join(', ').slice(0, 2000)}.`,
  });
}

/** A probe lives for about 100 ms; an engine may count it late. */
const looks = 40;
const lookPauseMs = 5;

/** What the kernel counts by, as the engine reads it from the cgroups. A limit that is not set is not counted by. */
async function judgeLimits(api: EngineApi, container: string, { limits }: CellPlan): Promise<ConformanceResult[]> {
  const seen: { memory?: number; pids?: number; periods?: number } = {};
  for (let look = 0; look < looks; look++) {
    // What cannot be looked at is not seen, and what is not seen is not in force.
    const stats = await api.stats(container, 2_000).catch(() => undefined);
    const memory = stats?.memory_stats?.limit;
    if (memory === undefined || memory === 0) {
      // It is gone, or not there yet.
      if (seen.memory !== undefined) break;
      await sleep(lookPauseMs);
      continue;
    }
    seen.memory = memory;
    if (stats?.pids_stats?.limit !== undefined) seen.pids = stats.pids_stats.limit;
    seen.periods = Math.max(seen.periods ?? 0, stats?.cpu_stats?.throttling_data?.periods ?? 0);
    if (seen.pids !== undefined && seen.periods > 0) break;
  }
  const judged = (property: string, claim: string, holds: boolean, found: unknown): ConformanceResult => ({
    property,
    claim,
    violations: holds ? [] : [`the engine's host counts by ${found ?? 'none'}`],
  });
  return [
    judged('cgroup-memory', 'is counted by its memory limit', seen.memory === limits.memoryBytes, seen.memory),
    judged('cgroup-pids', 'is counted by its limit of processes', seen.pids === limits.pids, seen.pids),
    judged('cgroup-cpu', 'has its processor time counted by a quota', (seen.periods ?? 0) > 0, seen.periods),
  ];
}
