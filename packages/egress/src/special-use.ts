import { mappedIpv4, nat64Ipv4 } from './address-embedded.ts';
import type { AddressBytes, Cidr } from './api.ts';
import { blockOf, isCovered } from './cidr.ts';

/** A block that is no part of the public internet, or not in the way of other addresses. */
export interface SpecialUse {
  /** Unique in the table; part of the rule id of a refusal. */
  readonly id: string;
  readonly name: string;
  readonly source: string;
}

/**
 * The IANA special-purpose address registries for IPv4 and IPv6, every row of them, and what other registries of IANA take
 * out of unicast: multicast, site-local and IPv4-compatible addresses. Rows that IANA calls globally reachable are here
 * too: they are anycast and translation services, and nothing that a node has business with.
 */
export const specialUseTable: readonly (SpecialUse & { readonly block: string })[] = [
  { block: '0.0.0.0/8', id: 'this-network', name: 'this network', source: 'RFC 791' },
  { block: '0.0.0.0/32', id: 'this-host', name: 'this host on this network', source: 'RFC 1122' },
  { block: '10.0.0.0/8', id: 'private-10', name: 'private use', source: 'RFC 1918' },
  { block: '100.64.0.0/10', id: 'shared', name: 'shared address space of carriers', source: 'RFC 6598' },
  { block: '127.0.0.0/8', id: 'loopback', name: 'loopback', source: 'RFC 1122' },
  { block: '169.254.0.0/16', id: 'link-local', name: 'link-local', source: 'RFC 3927' },
  { block: '172.16.0.0/12', id: 'private-172', name: 'private use', source: 'RFC 1918' },
  { block: '192.0.0.0/24', id: 'ietf-protocols', name: 'IETF protocol assignments', source: 'RFC 6890' },
  { block: '192.0.0.0/29', id: 'ipv4-continuity', name: 'IPv4 service continuity', source: 'RFC 7335' },
  { block: '192.0.0.8/32', id: 'ipv4-dummy', name: 'IPv4 dummy address', source: 'RFC 7600' },
  { block: '192.0.0.9/32', id: 'pcp-anycast', name: 'port control protocol anycast', source: 'RFC 7723' },
  { block: '192.0.0.10/32', id: 'turn-anycast', name: 'TURN anycast', source: 'RFC 8155' },
  { block: '192.0.0.170/32', id: 'nat64-discovery-170', name: 'NAT64 and DNS64 discovery', source: 'RFC 8880' },
  { block: '192.0.0.171/32', id: 'nat64-discovery-171', name: 'NAT64 and DNS64 discovery', source: 'RFC 8880' },
  { block: '192.0.2.0/24', id: 'documentation-1', name: 'documentation (TEST-NET-1)', source: 'RFC 5737' },
  { block: '192.31.196.0/24', id: 'as112', name: 'AS112', source: 'RFC 7535' },
  { block: '192.52.193.0/24', id: 'amt', name: 'automatic multicast tunnelling', source: 'RFC 7450' },
  { block: '192.88.99.0/24', id: '6to4-relay', name: '6to4 relay anycast, deprecated', source: 'RFC 7526' },
  { block: '192.88.99.2/32', id: '6a44-relay', name: '6a44 relay anycast', source: 'RFC 6751' },
  { block: '192.168.0.0/16', id: 'private-192', name: 'private use', source: 'RFC 1918' },
  { block: '192.175.48.0/24', id: 'as112-direct', name: 'direct delegation of AS112', source: 'RFC 7534' },
  { block: '198.18.0.0/15', id: 'benchmarking', name: 'benchmarking', source: 'RFC 2544' },
  { block: '198.51.100.0/24', id: 'documentation-2', name: 'documentation (TEST-NET-2)', source: 'RFC 5737' },
  { block: '203.0.113.0/24', id: 'documentation-3', name: 'documentation (TEST-NET-3)', source: 'RFC 5737' },
  { block: '224.0.0.0/4', id: 'multicast', name: 'multicast', source: 'RFC 5771' },
  { block: '240.0.0.0/4', id: 'reserved', name: 'reserved', source: 'RFC 1112' },
  { block: '255.255.255.255/32', id: 'broadcast', name: 'limited broadcast', source: 'RFC 8190' },
  { block: '::/128', id: 'unspecified6', name: 'unspecified', source: 'RFC 4291' },
  { block: '::1/128', id: 'loopback6', name: 'loopback', source: 'RFC 4291' },
  { block: '::/96', id: 'ipv4-compatible', name: 'IPv4-compatible, deprecated', source: 'RFC 4291' },
  { block: '64:ff9b:1::/48', id: 'nat64-local', name: 'NAT64 of local use', source: 'RFC 8215' },
  { block: '100::/64', id: 'discard', name: 'discard only', source: 'RFC 6666' },
  { block: '100:0:0:1::/64', id: 'ipv6-dummy', name: 'IPv6 dummy prefix', source: 'RFC 9780' },
  { block: '2001::/23', id: 'ietf-protocols6', name: 'IETF protocol assignments', source: 'RFC 2928' },
  { block: '2001::/32', id: 'teredo', name: 'Teredo', source: 'RFC 4380' },
  { block: '2001:1::1/128', id: 'pcp-anycast6', name: 'port control protocol anycast', source: 'RFC 7723' },
  { block: '2001:1::2/128', id: 'turn-anycast6', name: 'TURN anycast', source: 'RFC 8155' },
  { block: '2001:1::3/128', id: 'srp-anycast6', name: 'DNS-SD registration anycast', source: 'RFC 9665' },
  { block: '2001:2::/48', id: 'benchmarking6', name: 'benchmarking', source: 'RFC 5180' },
  { block: '2001:3::/32', id: 'amt6', name: 'automatic multicast tunnelling', source: 'RFC 7450' },
  { block: '2001:4:112::/48', id: 'as112-6', name: 'AS112', source: 'RFC 7535' },
  { block: '2001:10::/28', id: 'orchid', name: 'ORCHID, deprecated', source: 'RFC 4843' },
  { block: '2001:20::/28', id: 'orchid2', name: 'ORCHIDv2', source: 'RFC 7343' },
  { block: '2001:30::/28', id: 'drone-remote-id', name: 'drone remote identification', source: 'RFC 9374' },
  { block: '2001:db8::/32', id: 'documentation6', name: 'documentation', source: 'RFC 3849' },
  { block: '2002::/16', id: '6to4', name: '6to4', source: 'RFC 3056' },
  { block: '2620:4f:8000::/48', id: 'as112-direct6', name: 'direct delegation of AS112', source: 'RFC 7534' },
  { block: '3fff::/20', id: 'documentation6-3fff', name: 'documentation', source: 'RFC 9637' },
  { block: '5f00::/16', id: 'srv6', name: 'segment routing identifiers', source: 'RFC 9602' },
  { block: 'fc00::/7', id: 'unique-local', name: 'unique local', source: 'RFC 4193' },
  { block: 'fe80::/10', id: 'link-local6', name: 'link-local', source: 'RFC 4291' },
  { block: 'fec0::/10', id: 'site-local', name: 'site-local, deprecated', source: 'RFC 3879' },
  { block: 'ff00::/8', id: 'multicast6', name: 'multicast', source: 'RFC 4291' },
];

const notGlobal: SpecialUse = { id: 'not-global-unicast', name: 'outside of global unicast', source: 'RFC 4291' };
const globalUnicast = blockOf('2000::/3');

const rows: readonly (SpecialUse & { readonly cidr: Cidr })[] = specialUseTable
  .map((row) => ({ ...row, cidr: blockOf(row.block) }))
  // The narrowest block says best what an address is.
  .sort((a, b) => b.cidr.bits - a.cidr.bits);

/**
 * What is special about an address; undefined for a public one.
 *
 * An IPv4-mapped address and one of the well-known NAT64 prefix are what the IPv4 address in them is. Of all IPv6 only
 * 2000::/3 without the rows of the table is public. Fails closed: what is no address is not public.
 */
export function specialUseOf(address: AddressBytes): SpecialUse | undefined {
  const inner = mappedIpv4(address) ?? nat64Ipv4(address);
  if (inner !== undefined) return specialUseOf(inner);
  const row = rows.find(({ cidr }) => isCovered(address, cidr));
  if (row !== undefined) return row;
  return address.length === 4 || isCovered(address, globalUnicast) ? undefined : notGlobal;
}
