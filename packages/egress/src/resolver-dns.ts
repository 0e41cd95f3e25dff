import { Resolver as DnsResolver } from 'node:dns/promises';
import type { GloveboxError } from '@glovebox/contract';
import { parseAddress } from './address.ts';
import type { AddressBytes } from './api.ts';
import { dialFailure } from './dial-failure.ts';
import { untilAborted } from './timeouts.ts';

/** One name server is asked this long, and each this often. */
const dnsTimeoutMs = 5_000;
const dnsTries = 2;
/** After addresses of one family, those of the other are waited for no longer: some name servers never answer for IPv6. */
const otherFamilyMs = 1_500;

/** Codes by which a name server says that there is no such name, or none of that kind. */
const absent: readonly string[] = ['ENOTFOUND', 'ENODATA', 'EBADNAME', 'ESERVFAIL', 'EREFUSED', 'EFORMERR'];

/**
 * Ask for the addresses of a name, as it is, without search domains.
 *
 * @param servers with a port where it is not 53; those of /etc/resolv.conf where none is named.
 * @throws GloveboxError `EGRESS_FAILED` (`NAME_NOT_FOUND`), `EGRESS_TIMED_OUT` (`CONNECT_TIMED_OUT`), or the signal's reason.
 */
export async function askNameServers(
  host: string,
  signal: AbortSignal,
  servers: readonly string[] = [],
): Promise<readonly AddressBytes[]> {
  signal.throwIfAborted();
  const dns = new DnsResolver({ timeout: dnsTimeoutMs, tries: dnsTries });
  if (servers.length > 0) dns.setServers(servers);
  const cancel = (): void => dns.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  let patience: NodeJS.Timeout | undefined;
  try {
    const lookUps = [dns.resolve4(host), dns.resolve6(host)];
    for (const lookUp of lookUps) {
      const onFound = (): void => {
        patience ??= setTimeout(cancel, otherFamilyMs);
      };
      lookUp.then(onFound, () => {});
    }
    const answers = await untilAborted(Promise.allSettled(lookUps), signal);
    const texts = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    // What is not an address after all is judged by nobody, so it is not connected to either.
    const addresses = texts.map(parseAddress).filter((address) => address !== undefined);
    if (addresses.length > 0) return addresses;
    throw unresolved(
      host,
      answers.map((answer) => (answer.status === 'rejected' ? answer.reason : undefined)),
    );
  } finally {
    clearTimeout(patience);
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
