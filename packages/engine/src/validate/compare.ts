import type { Json } from '@glovebox/contract';

/** Where two values differ. `expected` and `actual` are undefined where nothing stands there. */
export interface Difference {
  /** JSON Pointer. */
  path: string;
  expected: Json | undefined;
  actual: Json | undefined;
}

/**
 * The first place at which two JSON values differ; the order of an object's members does not count. Members are own
 * members whatever they are called: `__proto__` is one like any other.
 *
 * Linear in the smaller of the two, and as deep as both: whoever parses them bounds that.
 */
export function firstDifference(expected: Json, actual: Json, path = ''): Difference | undefined {
  if (Array.isArray(expected) && Array.isArray(actual)) return inArrays(expected, actual, path);
  if (isObject(expected) && isObject(actual)) return inObjects(expected, actual, path);
  return expected === actual ? undefined : { path, expected, actual };
}

function inArrays(expected: Json[], actual: Json[], path: string): Difference | undefined {
  for (let i = 0; i < Math.max(expected.length, actual.length); i++) {
    const [wanted, found] = [expected[i], actual[i]];
    const at = `${path}/${i}`;
    if (wanted === undefined || found === undefined) return { path: at, expected: wanted, actual: found };
    const inside = firstDifference(wanted, found, at);
    if (inside !== undefined) return inside;
  }
  return undefined;
}

function inObjects(
  expected: { [key: string]: Json },
  actual: { [key: string]: Json },
  path: string,
): Difference | undefined {
  for (const [key, wanted] of Object.entries(expected)) {
    const at = `${path}/${escaped(key)}`;
    const found = Object.hasOwn(actual, key) ? actual[key] : undefined;
    if (found === undefined) return { path: at, expected: wanted, actual: undefined };
    const inside = firstDifference(wanted, found, at);
    if (inside !== undefined) return inside;
  }
  const extra = Object.keys(actual).find((key) => !Object.hasOwn(expected, key));
  return extra === undefined
    ? undefined
    : { path: `${path}/${escaped(extra)}`, expected: undefined, actual: actual[extra] };
}

const escaped = (key: string): string => key.replaceAll('~', '~0').replaceAll('/', '~1');

function isObject(value: Json): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
