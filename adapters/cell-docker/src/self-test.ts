import { type CellFacts, type ConformanceResult, probeCell } from '@glovebox/cell';
import { GloveboxError } from '@glovebox/contract';
import { type BootContext, type BootedCell, bootCell } from './boot.ts';
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
  let booted: BootedCell | undefined;
  const { facts, results } = await probeCell({
    image,
    class: context.facts.class,
    boot: async (plan, id) => {
      booted = await bootCell(context, plan, id);
      return booted;
    },
    profileOf: () => profileOf(context.facts, booted?.uid ?? 0),
  });
  return { facts, results: [...results, ...(await judgeLimitsByEffect(context, image))] };
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
