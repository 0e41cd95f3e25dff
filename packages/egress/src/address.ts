import type { AddressBytes } from './api.ts';

/**
 * Read an address. IPv4 is four decimals without leading zeros; IPv6 is any form of RFC 4291, section 2.2. There are no
 * zone ids, no brackets and no other spellings: whoever reads those reads them in more than one way.
 *
 * @returns 4 or 16 bytes; undefined where the text is no address.
 */
export function parseAddress(text: string): AddressBytes | undefined {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

function parseIpv4(text: string): AddressBytes | undefined {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text);
  if (match === null) return undefined;
  const bytes = new Uint8Array(4);
  for (let i = 0; i < 4; i++) {
    const part = match[i + 1] as string;
    // 010 is ten to some readers and eight to others.
    if (part.length > 1 && part.startsWith('0')) return undefined;
    if (Number(part) > 255) return undefined;
    bytes[i] = Number(part);
  }
  return bytes;
}

function parseIpv6(text: string): AddressBytes | undefined {
  // The longest is eight groups of four, with four decimals in place of the last two.
  if (text.length > 45) return undefined;
  const halves = text.split('::');
  if (halves.length > 2) return undefined;
  const head = groupBytes(halves[0] as string, halves.length === 1);
  const tail = halves.length === 2 ? groupBytes(halves[1] as string, true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const given = head.length + tail.length;
  // `::` stands for one group at least.
  if (halves.length === 2 ? given > 14 : given !== 16) return undefined;
  const bytes = new Uint8Array(16);
  bytes.set(head, 0);
  bytes.set(tail, 16 - tail.length);
  return bytes;
}

/** Groups between colons, as bytes. Four decimals may stand for the last two groups where the address ends here. */
function groupBytes(text: string, endsHere: boolean): number[] | undefined {
  if (text === '') return [];
  const groups = text.split(':');
  const bytes: number[] = [];
  for (const [index, group] of groups.entries()) {
    if (group.includes('.')) {
      const ipv4 = endsHere && index === groups.length - 1 ? parseIpv4(group) : undefined;
      if (ipv4 === undefined) return undefined;
      bytes.push(...ipv4);
    } else if (/^[0-9a-fA-F]{1,4}$/.test(group)) {
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    } else return undefined;
  }
  return bytes;
}

/**
 * The one text of an address: four decimals, or lower-case groups with the first longest run of zero groups left out, as
 * the URL parser writes them; an IPv4-mapped address too is written in groups.
 */
export function formatAddress(address: AddressBytes): string {
  if (address.length === 4) return address.join('.');
  if (address.length !== 16) throw new RangeError(`an address of ${address.length} bytes`);
  const groups = Array.from(
    { length: 8 },
    (_, i) => ((address[2 * i] as number) << 8) | (address[2 * i + 1] as number),
  );
  const run = longestZeroRun(groups);
  const text = (part: number[]): string => part.map((group) => group.toString(16)).join(':');
  if (run.length < 2) return text(groups);
  return `${text(groups.slice(0, run.start))}::${text(groups.slice(run.start + run.length))}`;
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 };
  for (let start = 0; start < groups.length; start++) {
    let end = start;
    while (groups[end] === 0) end++;
    if (end - start > best.length) best = { start, length: end - start };
    start = Math.max(start, end - 1);
  }
  return best;
}
