export interface ColumnProfile {
  name: string;
  type: 'integer' | 'number' | 'boolean' | 'date' | 'string' | 'empty';
  nulls: number;
  distinct: number;
  min?: number;
  max?: number;
  mean?: number;
  quantiles?: { p05: number; p25: number; p50: number; p75: number; p95: number };
  top: { value: string; count: number }[];
}

const numeric = /^[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/;
const integer = /^[+-]?\d+$/;
const date = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/;
const boolean = /^(true|false)$/i;

/** Profile one column. Values that are null tokens count as nulls and nothing else. */
export function profileColumn(
  name: string,
  values: readonly string[],
  { nulls, topValues }: { nulls: ReadonlySet<string>; topValues: number },
): ColumnProfile {
  const present = values.filter((value) => !nulls.has(value));
  const counts = new Map<string, number>();
  for (const value of present) counts.set(value, (counts.get(value) ?? 0) + 1);
  const top = [...counts]
    .sort(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .slice(0, topValues)
    .map(([value, count]) => ({ value, count }));
  const type = typeOf(counts.keys());
  const base = { name, type, nulls: values.length - present.length, distinct: counts.size, top };
  if (type !== 'integer' && type !== 'number') return base;
  const sorted = Float64Array.from(present, Number).sort();
  const sum = sorted.reduce((total, value) => total + value, 0);
  return {
    ...base,
    min: sorted[0] as number,
    max: sorted[sorted.length - 1] as number,
    mean: sum / sorted.length,
    quantiles: {
      p05: quantile(sorted, 0.05),
      p25: quantile(sorted, 0.25),
      p50: quantile(sorted, 0.5),
      p75: quantile(sorted, 0.75),
      p95: quantile(sorted, 0.95),
    },
  };
}

function typeOf(values: Iterable<string>): ColumnProfile['type'] {
  const tests = [
    ['integer', integer],
    ['number', numeric],
    ['boolean', boolean],
    ['date', date],
  ] as const;
  const fits = new Set<(typeof tests)[number][0]>(tests.map(([type]) => type));
  let any = false;
  for (const value of values) {
    any = true;
    for (const [type, pattern] of tests) if (fits.has(type) && !pattern.test(value)) fits.delete(type);
    if (fits.size === 0) return 'string';
  }
  return any ? (tests.find(([type]) => fits.has(type))?.[0] ?? 'string') : 'empty';
}

/** Linear interpolation between the two nearest ranks of sorted values. */
export function quantile(sorted: Float64Array, q: number): number {
  const position = (sorted.length - 1) * q;
  const low = Math.floor(position);
  const from = sorted[low] as number;
  const to = sorted[Math.min(low + 1, sorted.length - 1)] as number;
  return from + (to - from) * (position - low);
}
