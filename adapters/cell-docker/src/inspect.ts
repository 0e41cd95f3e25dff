import {
  caught,
  type HostFact,
  type HostReport,
  hostFact,
  inForce,
  isUsable,
  missing,
  probedFacts,
  unprobedFacts,
} from '@glovebox/cell';
import type { CellClass } from '@glovebox/contract';
import type { BootContext } from './boot.ts';
import type { EngineApi } from './engine-api.ts';
import { describeVersion, type EngineFacts } from './engine-facts.ts';
import { missingLimits, openHoles, requireClass, type TestedEngine } from './engines.ts';
import { driverName, type ResolvedOptions } from './options.ts';
import { probeEngine } from './self-test.ts';

export interface InspectContext {
  options: ResolvedOptions;
  api: EngineApi;
  engine: TestedEngine;
  contextFor(facts: EngineFacts): BootContext;
}

/** What this engine offers: what it says of itself, and what a probe cell sees. */
export async function inspectEngine(
  context: InspectContext,
  image: string | undefined,
  cellClass: CellClass,
): Promise<HostReport> {
  const report = (facts: HostFact[]): HostReport => ({
    driver: driverName,
    class: cellClass,
    facts,
    usable: isUsable(facts, image !== undefined),
  });
  let engine: EngineFacts;
  try {
    engine = await context.engine.read();
  } catch (thrown) {
    return report([hostFact('engine', true, caught(thrown)), ...unprobedFacts()]);
  }
  const facts = [
    hostFact('engine', true, inForce(`${describeVersion(engine)} at ${context.api.address}`)),
    classFact(engine, cellClass),
    programsFact(context.options, engine),
    limitsFact(engine),
    swapFact(engine),
    userNamespaceFact(engine),
  ];
  const mayProbe = image !== undefined && isUsable(facts, true);
  return report([...facts, ...(mayProbe ? await probeFacts(context, engine, image) : unprobedFacts())]);
}

async function probeFacts(context: InspectContext, engine: EngineFacts, image: string): Promise<HostFact[]> {
  try {
    const { facts, results } = await probeEngine(context.contextFor(engine), image);
    // By name, the later word counts: limits by what the engine's host counts, and not by what was asked for.
    return [...new Map(probedFacts(facts, results).map((fact) => [fact.name, fact])).values()];
  } catch (thrown) {
    return [...unprobedFacts(), hostFact('probe-cell', true, caught(thrown))];
  }
}

function classFact(engine: EngineFacts, cellClass: CellClass): HostFact {
  try {
    requireClass(engine, cellClass);
    return hostFact('class', true, inForce(`${cellClass}, by ${engine.runtime}`));
  } catch (thrown) {
    return hostFact('class', true, caught(thrown));
  }
}

function programsFact({ acceptedRisks }: ResolvedOptions, engine: EngineFacts): HostFact {
  const risk = 'runtime-below-floor';
  const holes = openHoles(engine);
  const outcome =
    holes.length === 0
      ? inForce('no hole is known that the plan of a cell does not take away')
      : missing(holes.join('; '), `Upgrade the container engine and its runtime, or accept the risk ${risk}.`);
  const fact = hostFact('engine-programs', holes.length === 0 || !acceptedRisks.includes(risk), outcome);
  return holes.length === 0 ? fact : { ...fact, risk };
}

function limitsFact({ info }: EngineFacts): HostFact {
  const lacking = missingLimits(info);
  const detail = `cgroups version ${info.CgroupVersion ?? '1'} by ${info.CgroupDriver}`;
  if (lacking.length === 0) return hostFact('engine-limits', true, inForce(detail));
  const hint = 'Run the engine as root, or delegate the cgroups of memory, pids and cpu to it.';
  return hostFact('engine-limits', true, missing(`${detail}; no ${lacking.join(', ')}`, hint));
}

const swapFact = ({ info }: EngineFacts): HostFact =>
  hostFact(
    'swap-counted',
    true,
    info.SwapLimit
      ? inForce('memory is limited together with swap')
      : missing('the kernel does not count swap', 'Boot the host with swapaccount=1.'),
  );

/** Told, not demanded: the ids of a cell are its own on the host either way. */
function userNamespaceFact({ remapsIds }: EngineFacts): HostFact {
  return hostFact(
    'namespace-user',
    false,
    remapsIds
      ? inForce('the daemon maps ids')
      : {
          state: 'degraded',
          detail: 'ids of cells are those of the host, though no other cell has them',
          hint: 'Turn on userns-remap in the engine.',
        },
  );
}
