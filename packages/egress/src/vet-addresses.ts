import { formatAddress } from './address.ts';
import type { AddressBytes, Allowance, Policy, Resolver, Target } from './api.ts';
import { dialFailure } from './dial-failure.ts';
import { untilAborted } from './timeouts.ts';

/** Where a connection goes, and by which rules. */
export interface Route {
  readonly target: Pick<Target, 'scheme' | 'host' | 'literal' | 'port'>;
  readonly allowances: readonly Allowance[];
}

/** More of a name's addresses are not tried; all of them are judged. */
const triedAddresses = 8;

/**
 * The addresses that may be connected to for a target, in the order in which to try them: IPv4 and IPv6 in turn, beginning
 * with IPv4, since hosts without a way for IPv6 are the commoner ones.
 *
 * One address that is refused refuses the name. A name that has public and private addresses is how rebinding is done: the
 * public one gets it past a check, the private one is where the connection falls through to. An address of a family that this
 * host cannot reach is not refused for that; it fails to connect, and the next is tried.
 *
 * @throws GloveboxError `EGRESS_DENIED` with the reason of the policy, what the resolver throws, or the signal's reason.
 */
export async function vetAddresses(
  { target, allowances }: Route,
  resolver: Resolver,
  policy: Pick<Policy, 'judgeAddress'>,
  signal: AbortSignal,
): Promise<readonly AddressBytes[]> {
  // The name alone tells something to whoever answers for it: none is asked for that nobody waits for.
  signal.throwIfAborted();
  const addresses =
    target.literal === undefined ? await untilAborted(resolver.resolve(target.host, signal), signal) : [target.literal];
  if (addresses.length === 0) throw dialFailure('NAME_NOT_FOUND', `${target.host}: it has no address.`);
  for (const address of addresses) {
    const verdict = policy.judgeAddress(target, address, allowances);
    if (verdict.kind === 'refused') {
      throw dialFailure(verdict.reason, `${target.host} leads to ${formatAddress(address)}: ${verdict.why}`, {
        rule: verdict.rule,
        address: formatAddress(address),
      });
    }
  }
  return inTurn(addresses).slice(0, triedAddresses);
}

function inTurn(addresses: readonly AddressBytes[]): AddressBytes[] {
  const four = addresses.filter(({ length }) => length === 4);
  const six = addresses.filter(({ length }) => length !== 4);
  return Array.from({ length: Math.max(four.length, six.length) }, (_, index) => [four[index], six[index]])
    .flat()
    .filter((address) => address !== undefined);
}
