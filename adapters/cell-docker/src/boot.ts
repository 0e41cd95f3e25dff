import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Cell, type CellFacts, planHash } from '@glovebox/cell';
import { formatOwnedName, hostError, type OwnerMark, type UidClaim, type UidClaims } from '@glovebox/cell/host';
import { type AcceptableRisk, type CellId, type CellPlan, GloveboxError, toErrorData } from '@glovebox/contract';
import { anotherEngine } from './another-engine.ts';
import { type Attached, attachTo, detach, streamsOf } from './cell-streams.ts';
import { watchUse } from './cell-use.ts';
import { type CreateBody, makeCreateBody, seccompText } from './create-body.ts';
import type { EngineApi } from './engine-api.ts';
import { wasNeverAsked } from './engine-client.ts';
import { describeVersion, type EngineFacts } from './engine-facts.ts';
import type { ListedContainer } from './engine-schemas.ts';
import type { EngineImages } from './image.ts';
import { driverName, isWeakened, type ResolvedOptions } from './options.ts';
import { containerUid } from './profile.ts';
import { propertiesOf, weakenedProperty } from './properties.ts';
import { checkReadback } from './readback.ts';
import { superviseCell } from './running-cell.ts';

export interface BootContext {
  options: ResolvedOptions;
  api: EngineApi;
  images: EngineImages;
  facts: EngineFacts;
  mark: OwnerMark;
  claims: UidClaims;
  /** The engine that answers now; see EngineFacts. Asked anew. */
  keeper(): Promise<string>;
  /** Called when something of a cell could not be removed, or is not confirmed to be. */
  onLost(id: CellId): void;
}

/** As the driver knows it. */
export interface BootedCell extends Cell {
  /** The engine's id of it. */
  container: string;
  /** Container uid and gid. */
  uid: number;
}

export const cellLabel = 'glovebox.cell';
const instanceLabel = 'glovebox.instance';
/** Container uid and gid: no two containers of an engine have the same, wherever their owners keep their claims. */
const uidLabel = 'glovebox.uid';

/** How many ids are tried. One is taken only where owners on several hosts, or in several places, use one engine. */
const uidTries = 8;

/** What must go again when a cell ends, or does not come up. */
interface Traces {
  name: string;
  claim: UidClaim;
  /** The container's id; its name where a lost answer may have been that of its making. */
  container?: string;
  attached?: Attached;
}

/**
 * Boot one cell: claim a uid, have the engine make a container, hold what it made against what it was told, attach to it,
 * and only then start it, so that nothing that it says is lost.
 */
export async function bootCell(
  context: BootContext,
  plan: CellPlan,
  id: CellId,
  command?: readonly string[],
): Promise<BootedCell> {
  for (let tries = 1; ; tries++) {
    try {
      return await bootOnce(context, plan, id, command);
    } catch (thrown) {
      if (!isUidTaken(thrown) || tries === uidTries) throw thrown;
    }
  }
}

async function bootOnce(
  context: BootContext,
  plan: CellPlan,
  id: CellId,
  command?: readonly string[],
): Promise<BootedCell> {
  const { options, api, facts, mark, claims } = context;
  const traces: Traces = { name: formatOwnedName(id, mark), claim: claims.claim(id, mark, facts.keeper) };
  try {
    const marker = randomBytes(16).toString('hex');
    const uid = containerUid(facts, traces.claim);
    const body = bodyFor(context, plan, traces, { marker, uid, ...(command === undefined ? {} : { command }) });
    traces.container = traces.name;
    const container = await create(context, traces.name, body);
    traces.container = container;
    traces.attached = await prepare(context, container, plan, body, uid);
    await api.start(container, options.bootDeadlineMs);
    const { attached } = traces;
    const cell = superviseCell({
      id,
      plan,
      facts: factsOf(context, plan, body),
      api,
      container,
      use: watchUse(api, container, plan.limits.pids),
      open: (events) => streamsOf(attached, plan.role, marker, events),
      close: () => detach(attached),
      dismantle: () => dismantle(context, id, traces),
      onLost: () => context.onLost(id),
      isSameEngine: () => isSameEngine(context),
      giveUpMs: options.giveUpMs,
      ignoreDeadline: options.ignoreDeadlineForTest === true,
    });
    return { ...cell, container, uid };
  } catch (thrown) {
    if (traces.attached !== undefined) detach(traces.attached);
    const left = await undo(context, id, traces, thrown);
    // Why it did not come up counts for less than that something of it may be there.
    throw left ?? hostError(thrown, 'ENGINE_REFUSED', 'The container engine cannot be used');
  }
}

function bodyFor(
  { options, facts, mark }: BootContext,
  plan: CellPlan,
  traces: Traces,
  own: { marker: string; uid: number; command?: readonly string[] },
): CreateBody {
  const body = makeCreateBody({
    plan,
    ...own,
    labels: { [cellLabel]: traces.name, [instanceLabel]: mark.owner.instance, [uidLabel]: String(own.uid) },
    arch: facts.arch,
    runtime: facts.runtime,
    seccomp: seccompText(plan, facts.arch),
  });
  return options.weakenForTest === undefined ? body : options.weakenForTest(body);
}

/** The image is there as a rule, so it is asked for only when the engine misses it. */
async function create({ api, images }: BootContext, name: string, body: CreateBody): Promise<string> {
  const made = await api.create(name, body);
  if (made !== undefined) return made;
  await images.provide(body.Image);
  const again = await api.create(name, body);
  if (again !== undefined) return again;
  throw new GloveboxError('ENGINE_REFUSED', { message: `The container engine lost the image ${body.Image}.` });
}

async function prepare(
  { api, facts }: BootContext,
  container: string,
  plan: CellPlan,
  body: CreateBody,
  uid: number,
): Promise<Attached> {
  const [attached, told, sharing] = await Promise.allSettled([
    attachTo(api, facts.kind, container, plan.role),
    api.inspect(container),
    api.list(`${uidLabel}=${uid}`),
  ]);
  try {
    if (told.status === 'rejected') throw told.reason;
    if (told.value === undefined)
      throw new GloveboxError('ENGINE_REFUSED', {
        message: 'The container engine lost a container that it just made.',
      });
    checkReadback(facts.kind, body, told.value);
    if (sharing.status === 'rejected') throw sharing.reason;
    requireOnly(container, sharing.value);
  } catch (thrown) {
    if (attached.status === 'fulfilled') detach(attached.value);
    throw thrown;
  }
  if (attached.status === 'rejected') throw attached.reason;
  return attached.value;
}

/**
 * Claims are unique in one directory, and an engine may be used from several. Each asks between making its container and
 * starting it, so that of two at least one sees the other.
 */
function requireOnly(container: string, sharing: readonly ListedContainer[]): void {
  if (sharing.every(({ Id }) => Id === container)) return;
  throw new GloveboxError('UID_RANGE_EXHAUSTED', {
    message: 'Other containers of the engine have the ids of this cell, on each try.',
    hint: 'Give all that use one engine the same directory of claims.',
    details: { taken: true },
  });
}

const isUidTaken = (thrown: unknown): boolean =>
  GloveboxError.is(thrown, 'UID_RANGE_EXHAUSTED') &&
  (thrown.details as { taken?: boolean } | undefined)?.taken === true;

function factsOf({ options, facts }: BootContext, plan: CellPlan, body: CreateBody): CellFacts {
  const properties = [
    ...propertiesOf(body),
    'uid-own',
    ...(facts.remapsIds ? ['namespace-user'] : []),
    ...(options.ignoreDeadlineForTest === true ? [] : ['deadline']),
    ...(isWeakened(options) ? [weakenedProperty] : []),
  ];
  return {
    driver: driverName,
    runtime: facts.runtime,
    runtimeVersion: describeVersion(facts),
    planHash: planHash(plan),
    properties: properties.sort(),
    acceptedRisks: risksTaken(facts),
  };
}

/** What this engine goes without. Whether that is accepted is decided before a boot. */
export const risksTaken = ({ programs }: EngineFacts): AcceptableRisk[] => [
  ...(programs.every(({ open }) => open.length === 0) ? [] : ['runtime-below-floor' as const]),
];

/**
 * A failed boot leaves what a dead cell leaves, in parts. After a lost answer the engine may yet do what it was asked: then
 * nothing is confirmed, and the claim stays for a later sweep.
 */
async function undo(
  context: BootContext,
  id: CellId,
  traces: Traces,
  thrown: unknown,
): Promise<GloveboxError | undefined> {
  // Podman is asked for more than a container.
  const isUnasked = traces.container === traces.name && wasNeverAsked(thrown) && context.facts.kind === 'docker';
  if (traces.container === undefined || isUnasked) {
    context.claims.release(traces.claim);
    return undefined;
  }
  const isTold = !GloveboxError.is(thrown, 'ENGINE_UNREACHABLE');
  const left = await dismantle(context, id, traces, !isTold);
  if (isTold || left !== undefined) return left;
  return new GloveboxError('CELL_LOST', {
    message: `The container engine may yet boot a cell that was given up: ${thrown.message}`,
    cause: thrown,
  });
}

/** Remove the container until the engine confirms that it is not there; the uid is released after that and not before. */
async function dismantle(
  context: BootContext,
  id: CellId,
  traces: Traces,
  keepClaim = false,
): Promise<GloveboxError | undefined> {
  const { api, claims, options, onLost } = context;
  try {
    const { name, container = name } = traces;
    await removeContainer(api, { container, name }, options.giveUpMs, () => isSameEngine(context));
    if (keepClaim) onLost(id);
    else claims.release(traces.claim);
    return undefined;
  } catch (thrown) {
    onLost(id);
    return new GloveboxError('CELL_LOST', {
      message: `A trace of a dead cell is left: ${toErrorData(thrown).message}`,
      cause: thrown,
    });
  }
}

/** Whether what answers is the engine that a cell was booted at: only of that one is `there is no such container` news. */
export const isSameEngine = async ({ facts, keeper }: Pick<BootContext, 'facts' | 'keeper'>): Promise<boolean> =>
  (await keeper()) === facts.keeper;

/**
 * @param isSame whether the engine is the one that has the container, if any; asked where it says that there is none.
 * @throws GloveboxError of the last try.
 */
export async function removeContainer(
  api: EngineApi,
  { container, name }: { container: string; name: string },
  giveUpMs: number,
  isSame: () => Promise<boolean>,
): Promise<void> {
  const started = performance.now();
  let hadIt = false;
  for (let pauseMs = 5; ; pauseMs = Math.min(500, pauseMs * 2)) {
    let failure: unknown = new GloveboxError('CELL_LOST', {
      message: 'The container engine does not remove a container.',
    });
    try {
      hadIt = (await api.remove(container, name)) || hadIt;
      if ((await api.inspect(container)) === undefined) {
        if (hadIt || (await isSame())) return;
        failure = anotherEngine();
      }
    } catch (thrown) {
      failure = thrown;
    }
    if (performance.now() - started > giveUpMs) throw failure;
    await sleep(pauseMs);
  }
}
