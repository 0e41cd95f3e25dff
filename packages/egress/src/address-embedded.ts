import type { AddressBytes } from './api.ts';

/**
 * The IPv4 address inside of an IPv4-mapped one (::ffff:0:0/96). A kernel connects to that very IPv4 address, so this is no
 * more than another spelling of it.
 */
export function mappedIpv4(address: AddressBytes): AddressBytes | undefined {
  return address.length === 16 && beginsWith(address, [...zeros(10), 0xff, 0xff]) ? address.slice(12) : undefined;
}

/** The IPv4 address that a NAT64 gateway of the well-known prefix connects to (64:ff9b::/96, RFC 6052). */
export function nat64Ipv4(address: AddressBytes): AddressBytes | undefined {
  return address.length === 16 && beginsWith(address, [0x00, 0x64, 0xff, 0x9b, ...zeros(8)])
    ? address.slice(12)
    : undefined;
}

/**
 * Every IPv4 address that a packet to this IPv6 address could end at or pass: mapped, NAT64, IPv4-compatible (RFC 4291),
 * 6to4 (RFC 3056), and server and client of Teredo (RFC 4380). What an operator's own NAT64 prefix leads to cannot be seen.
 */
export function embeddedIpv4(address: AddressBytes): AddressBytes[] {
  if (address.length !== 16) return [];
  const whole = mappedIpv4(address) ?? nat64Ipv4(address);
  if (whole !== undefined) return [whole];
  if (beginsWith(address, [0x20, 0x02])) return [address.slice(2, 6)];
  if (beginsWith(address, [0x20, 0x01, 0x00, 0x00])) {
    return [address.slice(4, 8), address.slice(12).map((byte) => byte ^ 0xff)];
  }
  // ::1 and :: are addresses of their own and not 0.0.0.1 and 0.0.0.0.
  if (beginsWith(address, zeros(12)) && address[12] !== 0) return [address.slice(12)];
  return [];
}

const zeros = (count: number): number[] => new Array<number>(count).fill(0);

const beginsWith = (address: AddressBytes, start: readonly number[]): boolean =>
  start.every((byte, index) => address[index] === byte);
