import { parseAddress } from './address.ts';
import { mappedIpv4 } from './address-embedded.ts';
import type { AddressBytes, Cidr } from './api.ts';

/**
 * Read an address block such as 10.0.0.0/8 or fd00::/8. A block of IPv4-mapped addresses is read as the IPv4 block that it is.
 *
 * @returns undefined where the text is none, or has bits set beyond its prefix: 10.1.2.3/8 may mean either of two blocks.
 */
export function parseCidr(text: string): Cidr | undefined {
  const match = /^([^/]+)\/(\d|[1-9]\d{1,2})$/.exec(text);
  if (match === null) return undefined;
  const address = parseAddress(match[1] as string);
  const bits = Number(match[2]);
  if (address === undefined || bits > address.length * 8) return undefined;
  if (hasBitsBeyond(address, bits)) return undefined;
  const mapped = bits >= 96 ? mappedIpv4(address) : undefined;
  return mapped === undefined ? { address, bits } : { address: mapped, bits: bits - 96 };
}

/** The block of a text that stands in a table of ours. */
export function blockOf(text: string): Cidr {
  const cidr = parseCidr(text);
  if (cidr === undefined) throw new RangeError(`${text} is no address block`);
  return cidr;
}

/** Whether an address lies in a block of its own family. No IPv4 address lies in an IPv6 block, not even in ::/0. */
export function isCovered(address: AddressBytes, cidr: Cidr): boolean {
  if (address.length !== cidr.address.length) return false;
  const whole = cidr.bits >> 3;
  for (let i = 0; i < whole; i++) if (address[i] !== cidr.address[i]) return false;
  const rest = cidr.bits & 7;
  if (rest === 0) return true;
  const mask = (0xff00 >> rest) & 0xff;
  return ((address[whole] as number) & mask) === ((cidr.address[whole] as number) & mask);
}

function hasBitsBeyond(address: AddressBytes, bits: number): boolean {
  for (let bit = bits; bit < address.length * 8; bit++) {
    if (((address[bit >> 3] as number) & (0x80 >> (bit & 7))) !== 0) return true;
  }
  return false;
}
