import {
  type Cell,
  type CellDriver,
  caught,
  type FactOutcome,
  type HostReport,
  hostFact,
  inForce,
} from '@glovebox/cell';
import { celldVersion } from '@glovebox/cell/celld-protocol';
import { type CellClass, type CellId, type CellPlan, GloveboxError } from '@glovebox/contract';
import { bootCell } from './boot.ts';
import { findCelld } from './celld-place.ts';
import { ask, unexpected } from './connection.ts';

export interface CelldDriverOptions {
  /** Where celld listens. */
  socketPath: string;
  /** Who celld runs as, where that is neither root nor our own user. */
  celldUid?: number;
  /** How long celld may take to say that it has heard, in which nothing is waited for but celld itself. */
  answerDeadlineMs?: number;
  /** How long it may take to boot a cell, to confirm that one is dead, to inspect and to sweep. */
  workDeadlineMs?: number;
}

export type Deadlines = Required<Pick<CelldDriverOptions, 'answerDeadlineMs' | 'workDeadlineMs'>>;

/**
 * The driver of a process that may make no cells: it has celld make them. Nothing of a cell is decided here; what celld
 * says is checked against its schema, and a cell of which it says no more counts as lost.
 *
 * Facts and receipts name the driver that celld has, which is what made the cell. The cells of a process that dies are
 * killed by celld at once.
 */
export function createCelldDriver(options: CelldDriverOptions): CellDriver {
  const { socketPath } = options;
  const deadlines: Deadlines = {
    answerDeadlineMs: options.answerDeadlineMs ?? 10_000,
    workDeadlineMs: options.workDeadlineMs ?? 120_000,
  };
  const find = (): string => findCelld(socketPath, options.celldUid);
  const inquire = async (request: Parameters<typeof ask>[1]): ReturnType<typeof ask> =>
    ask(find(), request, deadlines.workDeadlineMs);

  return {
    name: 'celld',
    boot: async (plan: CellPlan, id: CellId): Promise<Cell> => bootCell({ socketPath: find(), deadlines, plan, id }),
    async inspect(image?: string, cellClass: CellClass = 'ns'): Promise<HostReport> {
      try {
        const answer = await inquire({
          celld: celldVersion,
          open: 'inspect',
          ...(image === undefined ? {} : { image }),
          class: cellClass,
        });
        if (!('inspected' in answer)) throw unexpected(answer);
        const { inspected } = answer;
        const reached = hostFact('celld', true, inForce(`answers at ${socketPath}`));
        return { ...inspected, facts: [reached, ...inspected.facts] };
      } catch (thrown) {
        return { driver: 'celld', class: cellClass, usable: false, facts: [hostFact('celld', true, whyNot(thrown))] };
      }
    },
    async sweep() {
      const answer = await inquire({ celld: celldVersion, open: 'sweep' });
      if (!('swept' in answer)) throw unexpected(answer);
      return answer.swept;
    },
    async gauges() {
      const answer = await inquire({ celld: celldVersion, open: 'gauges' });
      if (!('gauges' in answer)) throw unexpected(answer);
      return answer.gauges;
    },
  };
}

/** A celld that has no room to look now says nothing about its host. */
const whyNot = (thrown: unknown): FactOutcome =>
  GloveboxError.is(thrown, 'CELLD_FULL') ? { ...caught(thrown), state: 'unknown' } : caught(thrown);
