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

  /** The commonest first; of those that are as common, the one that came first. */
  list(): EgressTally[] {
    return [...this.#counts.values()].sort((a, b) => b.count - a.count).slice(0, maxTallies);
  }
}
