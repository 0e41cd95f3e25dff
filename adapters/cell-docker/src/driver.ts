import { type Cell, type CellDriver, checkPlan, idInUse } from '@glovebox/cell';
import { isMadeBy, type OwnedName, openUidClaims, readOwnMark } from '@glovebox/cell/host';
import type { CellId, CellPlan } from '@glovebox/contract';
import { type BootContext, bootCell, isSameEngine } from './boot.ts';
import { createEngineApi } from './engine-api.ts';
import { createEngineClient } from './engine-client.ts';
import type { EngineFacts } from './engine-facts.ts';
import { createTestedEngine } from './engines.ts';
import { readGauges } from './gauges.ts';
import { createEngineImages } from './image.ts';
import { inspectEngine } from './inspect.ts';
import { type DockerDriverOptions, driverName, resolveOptions } from './options.ts';
import { sweepEngine } from './sweep.ts';

/**
 * The driver that has a container engine make cells, by its API alone: Docker from 20.10 on, or Podman's socket.
 *
 * A cell may outlive this process, and is swept then. What it says is no longer heard, and its channel ends with us.
 *
 * @throws GloveboxError `ENGINE_UNREACHABLE` for an address that cannot be one.
 */
export function createDockerDriver(given: DockerDriverOptions): CellDriver {
  const options = resolveOptions(given);
  const mark = readOwnMark(options.instance);
  const claims = openUidClaims(options.claimsDirectory);
  const deadlines = { callMs: options.callDeadlineMs, loadMs: options.loadDeadlineMs };
  const client = createEngineClient(options.engine, {
    onLost() {
      api.forget();
      engine.forget();
    },
  });
  const api = createEngineApi(client, deadlines, options.runDirectory);
  const images = createEngineImages(api, options.archiveOf);
  /** Cells of ours of which a trace could not be removed: the only own ones that a sweep may touch. */
  const lost = new Set<CellId>();

  const contextFor = (facts: EngineFacts): BootContext => ({
    options,
    api,
    images,
    facts,
    mark,
    claims,
    keeper: async () => (await engine.read()).keeper,
    onLost: (id) => lost.add(id),
  });
  const engine = createTestedEngine(options, api, contextFor);

  const isOwn = (name: OwnedName): boolean => isMadeBy(mark, name);

  return {
    name: driverName,

    async boot(unsafePlan: CellPlan, unsafeId: CellId): Promise<Cell> {
      const plan = checkPlan(unsafePlan, unsafeId);
      if (lost.has(unsafeId)) throw idInUse();
      const facts = await engine.admit(plan);
      return bootCell(contextFor(facts), plan, unsafeId);
    },

    inspect: (image, cellClass = 'ns') => inspectEngine({ options, api, engine, contextFor }, image, cellClass),

    async sweep() {
      const facts = await engine.read();
      const report = await sweepEngine({
        api,
        claims,
        mark,
        keeper: facts.keeper,
        isSame: () => isSameEngine(contextFor(facts)),
        giveUpMs: options.giveUpMs,
        isOwn,
        isLost: ({ cell }) => lost.has(cell),
      });
      // A cell that may be there has its claim.
      const claimed = new Set(claims.list().map(({ kept }) => kept?.name.cell));
      for (const cell of lost) if (!claimed.has(cell)) lost.delete(cell);
      return report;
    },

    gauges: () => readGauges({ api, claims, instance: options.instance }),
  };
}
