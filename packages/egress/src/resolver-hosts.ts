import { readFileSync, statSync } from 'node:fs';
import { parseAddress } from './address.ts';
import type { AddressBytes } from './api.ts';

/** A file like /etc/hosts. It is read when it is first asked, and again when it has changed, looked at once a second. */
export interface HostsFile {
  /** @param host in lower case. @returns its addresses in the order of the file; none where it is not in it. */
  find(host: string): readonly AddressBytes[];
}

const lookMs = 1_000;

/** A file that is not there has no names. */
export function hostsFile(path: string): HostsFile {
  let names = new Map<string, AddressBytes[]>();
  let version = '';
  let lookedAtMs = Number.NEGATIVE_INFINITY;

  const look = (): void => {
    if (performance.now() - lookedAtMs < lookMs) return;
    lookedAtMs = performance.now();
    const stat = statSync(path, { throwIfNoEntry: false });
    const found = stat === undefined ? '' : `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
    if (found === version) return;
    version = found;
    names = found === '' ? new Map() : parseHosts(readFileSync(path, 'utf8'));
  };
  return {
    find(host) {
      look();
      return names.get(host) ?? [];
    },
  };
}

function parseHosts(text: string): Map<string, AddressBytes[]> {
  const names = new Map<string, AddressBytes[]>();
  for (const line of text.split('\n')) {
    const [first = '', ...hosts] = line.replace(/#.*/, '').trim().split(/\s+/);
    const address = parseAddress(first);
    if (address === undefined) continue;
    for (const host of hosts) names.set(host.toLowerCase(), [...(names.get(host.toLowerCase()) ?? []), address]);
  }
  return names;
}
