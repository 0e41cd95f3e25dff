import { Resolver as DnsResolver } from 'node:dns/promises';
import { GloveboxError } from '@glovebox/contract';
import { parseAddress } from './address.ts';
import type { AddressBytes, Resolver } from './api.ts';
import { dialFailure } from './dial-failure.ts';
import { hostsFile } from './resolver-hosts.ts';
import { untilAborted } from './timeouts.ts';

/** One name server is asked this long, and each this often. */
const dnsTimeoutMs = 5_000;
const dnsTries = 2;

/** Codes by which a name server says that there is no such name, or none of that kind. */
const absent: readonly string[] = ['ENOTFOUND', 'ENODATA', 'EBADNAME', 'ESERVFAIL', 'EREFUSED', 'EFORMERR'];

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

function readFixed(text: string): AddressBytes {
  const address = parseAddress(text);
  if (address !== undefined) return address;
  throw new GloveboxError('EGRESS_POLICY_INVALID', {
    message: `${JSON.stringify(text)} in the host table is no address.`,
  });
}

async function askNameServers(host: string, signal: AbortSignal): Promise<readonly AddressBytes[]> {
  const dns = new DnsResolver({ timeout: dnsTimeoutMs, tries: dnsTries });
  const cancel = (): void => dns.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const answers = await untilAborted(Promise.allSettled([dns.resolve4(host), dns.resolve6(host)]), signal);
    const texts = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    // What is not an address after all is judged by nobody, so it is not connected to either.
    const addresses = texts.map(parseAddress).filter((address) => address !== undefined);
    if (addresses.length > 0) return addresses;
    throw unresolved(
      host,
      answers.map((answer) => (answer.status === 'rejected' ? answer.reason : undefined)),
    );
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** No answer in time may be one the next time; a name server that says no has answered. */
function unresolved(host: string, reasons: readonly unknown[]): GloveboxError {
  const codes = reasons.map((reason) => (reason as { code?: unknown } | undefined)?.code);
  const silent = codes.find((code) => typeof code === 'string' && !absent.includes(code));
  if (silent !== undefined) return dialFailure('CONNECT_TIMED_OUT', `${host}: no name server answered (${silent}).`);
  return dialFailure('NAME_NOT_FOUND', `${host}: no name server knows an address of it.`);
}
