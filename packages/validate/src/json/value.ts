import type { Json } from '@glovebox/contract';
import type { Segment } from './pointer.ts';

export function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at a path of own members and elements; undefined when there is none. */
export function valueAt(root: Json, path: readonly Segment[]): Json | undefined {
  let value: Json | undefined = root;
  for (const segment of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, segment)) return undefined;
    value = (value as { [key: string]: Json })[segment];
  }
  return value;
}
