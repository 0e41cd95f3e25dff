import type { EgressPolicy } from '@glovebox/contract';
import { parseAddress } from './address.ts';
import type { Allowance, Cidr, Target } from './api.ts';
import { blockOf } from './cidr.ts';
import { HostIndex } from './host-match.ts';
import { RuleTable } from './rules.ts';

type Host = Pick<Target, 'host' | 'literal'>;

interface DeniedBlock {
  readonly id: string;
  readonly cidr: Cidr;
}

/** A project's egress policy, by host. The policy was checked. */
export class ProjectLimits {
  /** Undefined: no bound. */
  readonly maximum: RuleTable | undefined;
  readonly #allowances = new HostIndex<Allowance>();
  readonly #deniedNames = new HostIndex<string>();
  readonly #deniedBlocks: DeniedBlock[] = [];
  /** Denied where a name leads to them, and nowhere else. */
  readonly #deniedBlocksOf = new HostIndex<DeniedBlock>();

  constructor({ allowances, denials, maximum }: EgressPolicy) {
    this.maximum = maximum === null ? undefined : new RuleTable(maximum.rules);
    for (const { id, host, cidrs, ports } of allowances) {
      this.#allowances.add(host, { id, cidrs: cidrs.map(blockOf), ports });
    }
    for (const { id, host, cidr } of denials) {
      if (cidr === undefined) {
        if (host !== undefined) this.#deniedNames.add(host, id);
        continue;
      }
      const block = { id, cidr: blockOf(cidr) };
      if (host === undefined) this.#deniedBlocks.push(block);
      else this.#deniedBlocksOf.add(host, block);
    }
  }

  /** Allowances for a host, on any port. */
  allowancesOf({ host, literal }: Host): Allowance[] {
    return this.#allowances.find(host, kindOf(literal));
  }

  /** The id of a denial of the name, whatever it leads to. */
  denialOf({ host, literal }: Host): string | undefined {
    return this.#deniedNames.find(host, kindOf(literal))[0];
  }

  /** Addresses that are denied to connections for a host. */
  deniedBlocks(host: string): readonly DeniedBlock[] {
    const own = this.#deniedBlocksOf.find(host, kindOf(parseAddress(host)));
    return own.length === 0 ? this.#deniedBlocks : [...this.#deniedBlocks, ...own];
  }
}

const kindOf = (literal: Target['literal']): 'name' | 'address' => (literal === undefined ? 'name' : 'address');
