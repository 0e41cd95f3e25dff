import type { SweepReport } from '@glovebox/cell';
import { judgeOwner, type OwnedName, type OwnerMark, parseOwnedName, type UidClaims } from '@glovebox/cell/host';
import { cellLabel, removeContainer } from './boot.ts';
import type { EngineApi } from './engine-api.ts';
import type { ListedContainer } from './engine-schemas.ts';

export interface SweepContext {
  api: EngineApi;
  claims: UidClaims;
  /** This process. */
  mark: OwnerMark;
  /** Of the engine that is swept. */
  keeper: string;
  /** Whether it is still that one that answers. */
  isSame(): Promise<boolean>;
  giveUpMs: number;
  /** Whether this very process made it. */
  isOwn(name: OwnedName): boolean;
  /** Of its own: those whose traces it failed to remove. They are swept like a dead owner's. */
  isLost(name: OwnedName): boolean;
}

/**
 * Remove what dead owners left at one engine: containers, whether they run, have ended or were never started, and then the
 * claims whose container is confirmed not to be there. A claim names its engine, so no other sweep releases it meanwhile:
 * neither that of a driver without an engine, which sees no process of a container whose ids are mapped, nor that of another
 * engine, which does not know the container.
 */
export async function sweepEngine(context: SweepContext): Promise<SweepReport> {
  const { api, claims, keeper } = context;
  const removed = { cells: 0, cgroups: 0, directories: 0, uidClaims: 0, processes: 0 };
  const cells = new Set<string>();
  const spared = new Set<string>();
  const mayRemove = (label: string, name: OwnedName | undefined): name is OwnedName => {
    if (name !== undefined && isAbandoned(context, name)) return true;
    // Live cells of our own are neither removed nor unknown.
    if (name === undefined || !context.isOwn(name)) spared.add(name?.cell ?? label);
    return false;
  };

  for (const listed of await api.list(cellLabel)) {
    const name = nameOf(listed);
    if (!mayRemove(listed.Id, name)) continue;
    try {
      await removeContainer(api, { container: listed.Id, name: nameTextOf(listed) }, context.giveUpMs, context.isSame);
    } catch {
      spared.add(name.cell);
      continue;
    }
    if (listed.State === 'running') {
      removed.processes++;
      removed.cgroups++;
    }
    cells.add(name.cell);
  }
  // Asked anew: what could not be removed keeps its claim, and so does what has come since.
  const remaining = new Set((await api.list(cellLabel)).map((listed) => nameOf(listed)?.cell));

  // What is made beside a container is removed after it, and an owner may die in between.
  for (const { Name } of await api.listScratch(cellLabel)) {
    const name = parseOwnedName(Name);
    if (name === undefined || remaining.has(name.cell) || !mayRemove(Name, name)) continue;
    try {
      await removeContainer(api, { container: Name, name: Name }, context.giveUpMs, context.isSame);
      cells.add(name.cell);
    } catch {
      spared.add(name.cell);
    }
  }

  // What another engine does not list may be at this one.
  const isSame = await context.isSame();
  for (const claim of claims.list()) {
    if (claim.kept === undefined) continue;
    const { name } = claim.kept;
    if (claim.kept.keeper !== keeper || !isSame) {
      // Whoever must be asked may never come back: that is told, and the claim stays.
      if (isAbandoned(context, name)) spared.add(name.cell);
      continue;
    }
    if (!mayRemove(claim.path, name)) continue;
    if (remaining.has(name.cell)) {
      spared.add(name.cell);
      continue;
    }
    claims.release({ path: claim.path, name: claim.text });
    removed.uidClaims++;
    cells.add(name.cell);
  }
  return { removed: { ...removed, cells: cells.difference(spared).size }, unknown: spared.size };
}

/** Container and label have the same name. */
const nameTextOf = ({ Labels }: ListedContainer): string => Labels?.[cellLabel] ?? '';

export const nameOf = (listed: ListedContainer): OwnedName | undefined => parseOwnedName(nameTextOf(listed));

/**
 * An engine may be another machine's too, so an owner under another kernel proves nothing by that: it may live there. Those of
 * our own data directory are of this machine, and of an earlier boot.
 */
function isAbandoned(context: SweepContext, name: OwnedName): boolean {
  if (context.isOwn(name)) return context.isLost(name);
  const { bootId, instance } = context.mark.owner;
  const isOfThisHost = name.owner.bootId === bootId || name.owner.instance === instance;
  return isOfThisHost && judgeOwner(name) === 'dead';
}
