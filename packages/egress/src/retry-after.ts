const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const month = `(?<month>${months.join('|')})`;
const time = String.raw`(?<hour>\d{2}):(?<minute>\d{2}):(?<second>\d{2})`;

/** RFC 9110, section 5.6.7: the one form that is sent today, and the two that a recipient has to know. */
const forms: readonly RegExp[] = [
  new RegExp(String.raw`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (?<day>\d{2}) ${month} (?<year>\d{4}) ${time} GMT$`),
  new RegExp(
    String.raw`^(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, (?<day>\d{2})-${month}-(?<year>\d{2}) ${time} GMT$`,
  ),
  new RegExp(String.raw`^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) ${month} (?<day>[ \d]\d) ${time} (?<year>\d{4})$`),
];

/**
 * How long `Retry-After` asks to wait.
 *
 * @param nowMs since the epoch.
 * @returns milliseconds, 0 for a date that has passed; undefined for what is neither seconds nor an HTTP date.
 */
export function retryAfterMs(text: string | undefined, nowMs: number): number | undefined {
  const value = text?.trim();
  if (value === undefined) return undefined;
  if (/^\d{1,10}$/.test(value)) return Number(value) * 1000;
  const atMs = httpDateMs(value, nowMs);
  return atMs === undefined ? undefined : Math.max(0, atMs - nowMs);
}

function httpDateMs(text: string, nowMs: number): number | undefined {
  const groups = forms.map((form) => form.exec(text)?.groups).find((found) => found !== undefined);
  if (groups === undefined) return undefined;
  const [day, hour, minute, second] = [groups.day, groups.hour, groups.minute, groups.second].map(Number);
  if (day === undefined || hour === undefined || minute === undefined || second === undefined) return undefined;
  // 60 is a leap second.
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const year = fullYear(groups.year ?? '', nowMs);
  const date = new Date(Date.UTC(year, months.indexOf(groups.month ?? ''), day, hour, minute, second));
  // Feb 30 is no date, and would become one in March.
  return date.getUTCDate() === day || second === 60 ? date.getTime() : undefined;
}

/** Two digits that seem to be over 50 years ahead are of the past. */
function fullYear(digits: string, nowMs: number): number {
  const year = Number(digits);
  if (digits.length === 4) return year;
  const thisYear = new Date(nowMs).getUTCFullYear();
  const inCentury = thisYear - (thisYear % 100) + year;
  return inCentury > thisYear + 50 ? inCentury - 100 : inCentury;
}
