import type { EgressReason } from '@glovebox/contract';
import { formatAddress } from './address.ts';
import { embeddedIpv4, mappedIpv4 } from './address-embedded.ts';
import type { AddressBytes, AddressVerdict, Allowance, Target } from './api.ts';
import { isCovered } from './cidr.ts';
import type { ProjectLimits } from './policy-limits.ts';
import { specialUseOf } from './special-use.ts';
import { neverAddress } from './special-use-never.ts';

/**
 * Judge the very address that is to be connected to, on its bytes. Whatever a name led to before, and whatever text stood
 * for the address, counts for nothing: that is what rebinding and odd spellings live on.
 */
export function judgeAddress(
  { host, port }: Pick<Target, 'host' | 'port'>,
  address: AddressBytes,
  allowances: readonly Allowance[],
  limits: ProjectLimits,
): AddressVerdict {
  const never = neverAddress(address);
  if (never !== undefined) return refused('ADDRESS_NEVER_ALLOWED', `never:${never.id}`, address, never.what);

  // A denial of an IPv4 block holds for every way to reach it, gateways that translate included.
  const readings = [address, ...embeddedIpv4(address)];
  const denied = limits.deniedBlocks(host).find(({ cidr }) => readings.some((reading) => isCovered(reading, cidr)));
  if (denied !== undefined) return refused('DENIED_BY_POLICY', denied.id, address, 'denied by the policy');

  const special = specialUseOf(address);
  if (special === undefined) return { kind: 'allowed' };
  // An allowance opens only what a kernel connects to: of the forms above that is the mapped one.
  const connected = mappedIpv4(address) ?? address;
  const isAllowed = allowances.some(
    ({ ports, cidrs }) => ports.includes(port) && cidrs.some((cidr) => isCovered(connected, cidr)),
  );
  if (isAllowed) return { kind: 'allowed' };
  return refused('ADDRESS_NOT_PUBLIC', `special:${special.id}`, address, `${special.name} (${special.source})`);
}

const refused = (reason: EgressReason, rule: string, address: AddressBytes, what: string): AddressVerdict => ({
  kind: 'refused',
  reason,
  rule,
  why: `${address.length === 4 || address.length === 16 ? formatAddress(address) : 'the address'} is ${what}`,
});
