import { type Engine, openEngine } from '@glovebox/engine';
import type { DriverOverrides, Places } from './adapters.ts';
import type { Config } from './config.ts';
import { openLocalParts } from './local-parts.ts';

export { localActor } from './actor.ts';
export type { DriverOverrides, Places } from './adapters.ts';
export { defaultCells } from './config.ts';

/** The engine in this process, and how to close it. */
export interface LocalEngine {
  engine: Engine;
  close(): Promise<void>;
}

/**
 * Open everything that running a node takes, for whoever works with use cases and not with the API: tests, the demo,
 * benchmarks.
 */
export async function openLocalEngine(
  config: Config,
  overrides: DriverOverrides = {},
  places: Places = {},
): Promise<LocalEngine> {
  const parts = openLocalParts(config, overrides, places);
  try {
    return { engine: await openEngine(parts.open), close: parts.close };
  } catch (error) {
    await parts.close();
    throw error;
  }
}
