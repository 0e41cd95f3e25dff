/**
 * The values of `format` that are known, each with its check. They are asserted, as most validators do and most authors
 * expect. Every check takes time linear in the text.
 */
export const formats: { readonly [name: string]: (text: string) => boolean } = {
  'date-time': isDateTime,
  date: isDate,
  time: isTime,
  email: isEmail,
  hostname: isHostname,
  ipv4: isIpv4,
  ipv6: isIpv6,
  uri: isUri,
  uuid: (text) => /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text),
};

/** RFC 3339, full-date. */
function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return false;
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (month < 1 || month > 12 || day < 1) return false;
  const leap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  const days = month === 2 ? (leap ? 29 : 28) : [4, 6, 9, 11].includes(month) ? 30 : 31;
  return day <= days;
}

/** RFC 3339, full-time: with a zone. Second 60 only where a leap second can be: at 23:59 UTC. */
function isTime(text: string): boolean {
  const match = /^(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/.exec(text);
  if (match === null) return false;
  const [hour, minute, second] = [Number(match[1]), Number(match[2]), Number(match[3])];
  const [zoneHour, zoneMinute] = [Number(match[5] ?? 0), Number(match[6] ?? 0)];
  if (hour > 23 || minute > 59 || zoneHour > 23 || zoneMinute > 59) return false;
  if (second < 60) return true;
  const offset = (zoneHour * 60 + zoneMinute) * (match[4] === '-' ? -1 : 1);
  const utc = (hour * 60 + minute - offset + 2 * 1440) % 1440;
  return second === 60 && utc === 23 * 60 + 59;
}

function isDateTime(text: string): boolean {
  return /^.{10}[Tt ]/.test(text) && text[10] !== ' ' && isDate(text.slice(0, 10)) && isTime(text.slice(11));
}

/** RFC 5321 without quoted local parts and address literals. */
function isEmail(text: string): boolean {
  const at = text.lastIndexOf('@');
  if (at < 1 || at > 64 || text.length > 254) return false;
  const local = text.slice(0, at).split('.');
  return local.every((atom) => /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+$/.test(atom)) && isHostname(text.slice(at + 1));
}

/** RFC 1123. */
function isHostname(text: string): boolean {
  if (text.length === 0 || text.length > 253) return false;
  return text
    .split('.')
    .every((label) => label.length <= 63 && /^[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?$/.test(label));
}

/** RFC 2673: four decimal numbers without leading zeros. */
function isIpv4(text: string): boolean {
  const parts = text.split('.', 5);
  return parts.length === 4 && parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) <= 255);
}

/** RFC 4291, section 2.2; no zone. */
function isIpv6(text: string): boolean {
  if (text.length > 45) return false;
  const halves = text.split('::');
  if (halves.length > 2) return false;
  const groups = (half: string, last: boolean): number => {
    if (half === '') return 0;
    let count = 0;
    const parts = half.split(':');
    for (const [index, part] of parts.entries()) {
      if (/^[0-9a-f]{1,4}$/i.test(part)) count++;
      else if (last && index === parts.length - 1 && isIpv4(part)) count += 2;
      else return Number.NaN;
    }
    return count;
  };
  const [left = '', right] = halves;
  if (right === undefined) return groups(left, true) === 8;
  return groups(left, false) + groups(right, true) <= 7;
}

/** RFC 3986: absolute, with a scheme; ASCII only. */
function isUri(text: string): boolean {
  const scheme = /^[A-Za-z][A-Za-z0-9+.-]*:/.exec(text)?.[0];
  if (scheme === undefined) return false;
  const rest = text.slice(scheme.length);
  const [hierarchy = '', ...fragments] = rest.split('#');
  if (fragments.length > 1) return false;
  if (!/^(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*$/.test(fragments[0] ?? '')) return false;
  const query = hierarchy.indexOf('?');
  const path = query === -1 ? hierarchy : hierarchy.slice(0, query);
  if (!/^(?:[A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*$/.test(query === -1 ? '' : hierarchy.slice(query)))
    return false;
  if (!path.startsWith('//')) return /^(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*$/.test(path);
  const slash = path.indexOf('/', 2);
  const authority = slash === -1 ? path.slice(2) : path.slice(2, slash);
  const below = slash === -1 ? '' : path.slice(slash);
  return isAuthority(authority) && /^(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*$/.test(below);
}

function isAuthority(text: string): boolean {
  const at = text.lastIndexOf('@');
  if (!/^(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*$/.test(text.slice(0, Math.max(at, 0)))) return false;
  const place = text.slice(at + 1);
  const literal = /^\[([0-9A-Fa-f:.]+)\](?::\d*)?$/.exec(place);
  if (literal !== null) return isIpv6(literal[1] ?? '');
  return /^(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{2})*(?::\d*)?$/.test(place);
}
