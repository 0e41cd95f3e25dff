import { lookup } from 'node:dns/promises';
import { GloveboxError } from '@glovebox/contract';
import { parseAddress } from './address.ts';
import type { AddressBytes, Resolver } from './api.ts';
import { reasonOf } from './dial-failure.ts';
import { askNameServers } from './resolver-dns.ts';
import { hostsFile } from './resolver-hosts.ts';
import { untilAborted } from './timeouts.ts';

/**
 * Names as this host knows them: /etc/hosts, then the name servers of /etc/resolv.conf. A name is asked for as it is, without
 * search domains.
 *
 * Not by getaddrinfo: that holds one of the four threads on which files are read as well, so a node whose name server is slow
 * would stop every other attempt.
 */
export function systemResolver(): Resolver {
  const hosts = hostsFile('/etc/hosts');
  return {
    async resolve(host, signal) {
      const listed = hosts.find(host);
      if (listed.length > 0) return listed;
      // A name server that answers for it would speak of another machine than this one.
      if (host === 'localhost' || host.endsWith('.localhost')) return [Uint8Array.of(127, 0, 0, 1)];
      return askNameServers(host, signal);
    },
  };
}

/**
 * An admin's own host table before another resolver.
 *
 * @param table by name in lower case, without a dot at its end; addresses as text.
 * @throws GloveboxError `EGRESS_POLICY_INVALID` when a text is no address.
 */
export function fixedResolver(table: Readonly<Record<string, readonly string[]>>, fallback: Resolver): Resolver {
  const fixed = new Map(Object.entries(table).map(([host, texts]) => [host, texts.map(readFixed)]));
  return {
    resolve: async (host, signal) => fixed.get(host) ?? fallback.resolve(host, signal),
  };
}

/**
 * For hosts that an admin names, such as a proxy or a registry: a name without a dot that is not found is looked up once more
 * as everything else on this host does it, by getaddrinfo, with search domains.
 */
export function withShortNames(resolver: Resolver): Resolver {
  return {
    async resolve(host, signal) {
      try {
        return await resolver.resolve(host, signal);
      } catch (error) {
        if (host.includes('.') || reasonOf(error) !== 'NAME_NOT_FOUND') throw error;
        const found = await untilAborted(
          lookup(host, { all: true }).catch(() => []),
          signal,
        );
        const addresses = found.map(({ address }) => parseAddress(address)).filter((bytes) => bytes !== undefined);
        if (addresses.length === 0) throw error;
        return addresses;
      }
    },
  };
}

function readFixed(text: string): AddressBytes {
  const address = parseAddress(text);
  if (address !== undefined) return address;
  throw new GloveboxError('EGRESS_POLICY_INVALID', {
    message: `${JSON.stringify(text)} in the host table is no address.`,
  });
}
