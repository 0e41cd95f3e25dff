import type { EgressRecord, EgressTally } from '@glovebox/contract';

/** Tallies that a summary has; a hostile node can make each of its requests one of its own. */
const maxTallies = 200;

/** How often the same came of the same kind of request. */
export class DecisionTally {
  readonly #counts = new Map<string, EgressTally>();

  add({ scheme, host, port, method, outcome, rule, reason }: EgressRecord): void {
    const key = JSON.stringify([scheme, host, port, method, outcome, rule, reason]);
    const count = (this.#counts.get(key)?.count ?? 0) + 1;
    this.#counts.set(key, { scheme, host, port, method, outcome, rule, reason, count });
  }

  /**
   * The commonest first; of those that are as common, the one that came first. What may have left comes before what was
   * refused where there is no room for all: decoys must not push it out of a receipt.
   */
  list(): EgressTally[] {
    const tallies = [...this.#counts.values()].sort(byCount);
    const kept = new Set(tallies.toSorted(byDeparture).slice(0, maxTallies));
    return tallies.filter((tally) => kept.has(tally));
  }
}

const byCount = (a: EgressTally, b: EgressTally): number => b.count - a.count;

const byDeparture = (a: EgressTally, b: EgressTally): number => Number(mayHaveLeft(b)) - Number(mayHaveLeft(a));

const mayHaveLeft = ({ outcome, reason }: EgressTally): boolean =>
  outcome !== 'denied' && reason !== 'TOO_MANY_REQUESTS' && reason !== 'TOO_MANY_REDIRECTS';
