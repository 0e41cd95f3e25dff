import { embeddedIpv4 } from './address-embedded.ts';
import type { AddressBytes, Cidr } from './api.ts';
import { blockOf, isCovered } from './cidr.ts';

/**
 * What no policy can open, since no request of a node has any business there: metadata services, which hand the host's own
 * credentials to whoever asks from it, and addresses that are no single host's.
 */
export const neverAllowed: readonly {
  readonly id: string;
  readonly what: string;
  readonly blocks: readonly string[];
}[] = [
  { id: 'link-local', what: 'link-local, where clouds have their metadata', blocks: ['169.254.0.0/16', 'fe80::/10'] },
  {
    id: 'cloud-metadata',
    what: 'a metadata service of a cloud',
    blocks: [
      // AWS: metadata, time, names and identities of pods
      'fd00:ec2::/32',
      // Google
      'fd20:ce::254/128',
      // Scaleway
      'fd00:42::42/128',
      // Alibaba
      '100.100.100.200/32',
      // Azure
      '168.63.129.16/32',
      // Oracle
      '192.0.0.192/32',
    ],
  },
  { id: 'unspecified', what: 'no host: this network, or unspecified', blocks: ['0.0.0.0/8', '::/128'] },
  { id: 'multicast', what: 'multicast', blocks: ['224.0.0.0/4', 'ff00::/8'] },
  { id: 'reserved', what: 'reserved, or broadcast', blocks: ['240.0.0.0/4'] },
];

/** Names by which clouds hand out the same, whatever they lead to. */
const metadataNames: ReadonlySet<string> = new Set([
  'metadata',
  'metadata.google.internal',
  'metadata.goog',
  'instance-data',
  'instance-data.ec2.internal',
  'metadata.azure.internal',
  'metadata.azure.com',
  'metadata.tencentyun.com',
  'metadata.platformequinix.com',
  'metadata.packet.net',
  'rancher-metadata',
]);

const rows: readonly { readonly id: string; readonly what: string; readonly cidrs: readonly Cidr[] }[] =
  neverAllowed.map(({ id, what, blocks }) => ({ id, what, cidrs: blocks.map(blockOf) }));

export interface Never {
  readonly id: string;
  readonly what: string;
}

/** Why an address is never connected to. Any IPv4 address inside of an IPv6 one counts, whoever would translate it. */
export function neverAddress(address: AddressBytes): Never | undefined {
  // Fails closed: what is no address is not connected to either.
  if (address.length !== 4 && address.length !== 16) return { id: 'no-address', what: 'no address' };
  const readings = [address, ...embeddedIpv4(address)];
  return rows.find(({ cidrs }) => cidrs.some((cidr) => readings.some((reading) => isCovered(reading, cidr))));
}

export function neverName(host: string): Never | undefined {
  return metadataNames.has(host) ? { id: 'cloud-metadata', what: 'the name of a metadata service' } : undefined;
}
