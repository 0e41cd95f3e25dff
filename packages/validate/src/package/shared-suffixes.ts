/**
 * Second levels under which the registries of countries register names for anybody (`co.uk`, `com.au`, `or.jp`). No copy of
 * the public suffix list: that one changes weekly, and a manifest that was valid has to stay so.
 */
const secondLevels: ReadonlySet<string> = new Set([
  ...[
    'ac',
    'asso',
    'biz',
    'co',
    'com',
    'edu',
    'firm',
    'gen',
    'go',
    'gob',
    'gov',
    'gouv',
    'govt',
    'gv',
    'id',
    'ind',
    'info',
  ],
  ...[
    'int',
    'ltd',
    'me',
    'mil',
    'muni',
    'name',
    'ne',
    'net',
    'nhs',
    'nom',
    'or',
    'org',
    'plc',
    'police',
    'pro',
    'sch',
    'web',
  ],
]);

/** A top level, or a second level of a country that works as one: anybody can have a name below it. */
export function isSharedSuffix(name: string): boolean {
  const labels = name.split('.');
  if (labels.length === 1) return true;
  const [second = '', top = ''] = labels;
  return labels.length === 2 && top.length === 2 && secondLevels.has(second);
}
