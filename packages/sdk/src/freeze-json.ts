import { freeze, keysOf } from './primordials.ts';

/**
 * Freeze a JSON value all the way down. It must come from JSON.parse or the like: a tree of plain arrays and objects, no
 * deeper than `maxJsonDepth`, so that recursion is bounded and no code of anybody runs.
 */
export function freezeJson<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    const names = keysOf(value);
    for (let i = 0; i < names.length; i++) freezeJson((value as Record<string, unknown>)[names[i] as string]);
    freeze(value);
  }
  return value;
}
