import { describeHoles } from '@glovebox/cell/host';
import { type CellClass, type CellPlan, GloveboxError } from '@glovebox/contract';
import { type BootContext, risksTaken } from './boot.ts';
import type { EngineApi } from './engine-api.ts';
import { type EngineFacts, readEngineFacts } from './engine-facts.ts';
import type { ResolvedOptions } from './options.ts';
import { identifyRuntime } from './runtime-identity.ts';
import { testEngine } from './self-test.ts';

/**
 * The engine at an address, which may be another one at any time: it can be restarted, upgraded, or told of another runtime.
 */
export interface TestedEngine {
  /** As it says of itself now. */
  read(): Promise<EngineFacts>;
  /**
   * Refuse a plan that this engine cannot run as it says, and an engine that does not do what it is told. The latter is
   * shown by a live cell of the plan's image: once for each engine, version and runtime, and anew when the engine has been away.
   *
   * @throws GloveboxError `CLASS_UNAVAILABLE`, `USERNS_UNAVAILABLE`, `ENGINE_REFUSED`, `ENGINE_UNREACHABLE`, what a boot throws.
   */
  admit(plan: CellPlan): Promise<EngineFacts>;
  /** It could not be reached: what comes back may be another engine. */
  forget(): void;
}

/** How long an engine is taken for what it said that it is. Podman takes seconds to say it. */
const factsMs = 2_000;

/** How long what a live cell showed of it counts, however little seems to have changed since. */
const testMs = 10 * 60_000;

export function createTestedEngine(
  options: ResolvedOptions,
  api: EngineApi,
  contextFor: (facts: EngineFacts) => BootContext,
): TestedEngine {
  /** The last one. A failure is not remembered: it may be mended by then. */
  let tested: { subject: string; result: Promise<void>; startedMs: number } | undefined;

  const test = (facts: EngineFacts, image: string): Promise<void> => {
    const subject = isLocal ? `${facts.fingerprint} ${identifyRuntime(facts)}` : facts.fingerprint;
    if (tested?.subject === subject && performance.now() - tested.startedMs < testMs) return tested.result;
    const result = testEngine(contextFor(facts), image).catch((thrown: unknown) => {
      if (tested === started) tested = undefined;
      throw thrown;
    });
    const started = { subject, result, startedMs: performance.now() };
    tested = started;
    return result;
  };

  const isLocal = 'socketPath' in options.engine;
  /** `untilMs`: while the answer is awaited there is no end of it. */
  let said: { facts: Promise<EngineFacts>; untilMs: number } | undefined;

  const read = (): Promise<EngineFacts> => {
    const asked = { facts: readEngineFacts(api, options.runtime), untilMs: Number.POSITIVE_INFINITY };
    said = asked;
    asked.facts.then(
      () => {
        asked.untilMs = performance.now() + factsMs;
      },
      () => {
        if (said === asked) said = undefined;
      },
    );
    return asked.facts;
  };
  const lately = (): Promise<EngineFacts> =>
    said !== undefined && performance.now() < said.untilMs ? said.facts : read();

  return {
    read,
    forget() {
      said = undefined;
      tested = undefined;
    },
    async admit(plan) {
      const facts = await lately();
      requireClass(facts, plan.class);
      requireAccepted(options, facts);
      requireCounting(facts);
      // A cell that is made weaker on purpose would fail the test that it is there to fail.
      if (options.weakenForTest === undefined) await test(facts, plan.image);
      return facts;
    },
  };
}

export function requireClass(facts: EngineFacts, wanted: CellClass): void {
  if (facts.class === wanted) return;
  throw new GloveboxError('CLASS_UNAVAILABLE', {
    message: `A container engine makes cells of class ${facts.class} alone, not ${wanted}.`,
    hint: 'Use the driver oci for the class gvisor.',
  });
}

function requireAccepted({ acceptedRisks }: ResolvedOptions, facts: EngineFacts): void {
  if (risksTaken(facts).every((risk) => acceptedRisks.includes(risk))) return;
  throw new GloveboxError('HOST_UNSUPPORTED', {
    message: `${openHoles(facts).join('. ')}.`,
    hint: 'Upgrade the container engine and its runtime, or accept the risk runtime-below-floor.',
  });
}

/** In words, each program that has some. */
export const openHoles = ({ programs }: EngineFacts): string[] =>
  programs.filter(({ open }) => open.length > 0).map(({ program, open }) => describeHoles(program, open));

/** Engines say of themselves which limits they would ignore. */
function requireCounting({ info }: EngineFacts): void {
  const missing = missingLimits(info);
  if (missing.length === 0) return;
  throw new GloveboxError('ENGINE_REFUSED', {
    message: `The container engine cannot limit cells: it has no ${missing.join(', ')}.`,
    hint: 'Run the engine as root, or delegate the cgroups of memory, pids and cpu to it.',
  });
}

export const missingLimits = (info: EngineFacts['info']): string[] => [
  ...(info.CgroupDriver === 'none' || info.CgroupDriver === '' ? ['cgroups'] : []),
  ...(info.MemoryLimit ? [] : ['cgroup-memory']),
  ...(info.PidsLimit ? [] : ['cgroup-pids']),
  ...(info.CpuCfsQuota && info.CpuCfsPeriod ? [] : ['cgroup-cpu']),
  ...((info.SecurityOptions ?? []).some((option) => option.split(',').includes('name=seccomp')) ? [] : ['seccomp']),
];
