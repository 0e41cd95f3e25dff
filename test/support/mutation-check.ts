import {
  type Cell,
  type CellDriver,
  type CellProfile,
  conformanceChecks,
  probeCell,
  type Weakening,
  witnessedCases,
} from '@glovebox/cell';
import type { CellId } from '@glovebox/contract';
import { type BootWitness, type LiveWitness, liveWitnesses } from './cell-witnesses.ts';

export interface MutationCheck {
  image: string;
  profileOf(cell: Cell): CellProfile;
}

/** Properties whose rows a probe cell of this driver fails, sorted. Throws what its boot throws. */
export async function failingRows(driver: CellDriver, { image, profileOf }: MutationCheck): Promise<string[]> {
  const { results } = await probeCell({ image, class: 'ns', boot: driver.boot, profileOf });
  return results
    .filter(({ violations }) => violations.length > 0)
    .map(({ property }) => property)
    .sort();
}

const isLive = (probe: string): probe is LiveWitness => Object.hasOwn(liveWitnesses, probe);

/** Rows that are witnessed by a live cell, with what takes away the property of each. */
export const liveCases = witnessedCases.flatMap(({ property, probe, weaken }) =>
  isLive(probe) && typeof weaken === 'string' ? [{ property, probe, weaken }] : [],
);

/** Properties of witnessed rows that cells booted so are found not to have, sorted. */
export async function failingWitnesses(
  boot: BootWitness,
  cases: readonly { property: string; probe: LiveWitness }[] = liveCases,
): Promise<string[]> {
  const failing: string[] = [];
  for (const { property, probe } of cases) {
    const violations = await liveWitnesses[probe](boot);
    if (violations.length > 0) failing.push(property);
  }
  return failing.sort();
}

/** A weakening that is done to live cells: now, and after a dispatch, which sets limits again. */
export function lifting<C extends { id: CellId; dispatch: Cell['dispatch'] }>(cell: C, lift?: (id: CellId) => void): C {
  if (lift === undefined) return cell;
  lift(cell.id);
  const { id } = cell;
  const dispatch: Cell['dispatch'] = async (limits) => {
    await cell.dispatch(limits);
    lift(id);
  };
  return Object.assign(Object.create(cell) as C, { dispatch });
}

/** Rows that the probe judges, by what takes away their property. */
export const probedCases: readonly { property: string; weaken: Weakening }[] = conformanceChecks;
