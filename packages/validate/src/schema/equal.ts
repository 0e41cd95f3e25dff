import type { Json } from '@glovebox/contract';

/** Spends the budget of an evaluation; throws TooCostly when there is none left. */
export type Spend = (steps: number) => void;

/** The names of an object's members. To list them costs about as much as to look at each of them. */
export function namesOf(value: object, spend: Spend): string[] {
  const names = Object.keys(value);
  spend(names.length);
  return names;
}

/** Equality of JSON values: numbers by value, objects without regard to order. */
export function equalJson(a: Json, b: Json, spend: Spend): boolean {
  spend(1);
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => equalJson(item, b[index] as Json, spend));
  }
  const left = a as { [key: string]: Json };
  const right = b as { [key: string]: Json };
  const keys = namesOf(left, spend);
  return (
    keys.length === namesOf(right, spend).length &&
    keys.every((key) => Object.hasOwn(right, key) && equalJson(left[key] as Json, right[key] as Json, spend))
  );
}

/** The indexes of the first two equal elements; undefined when all differ. Takes time linear in the array's size. */
export function firstDuplicate(items: readonly Json[], spend: Spend): [number, number] | undefined {
  const scalars = new Map<Json, number>();
  const composites = new Map<string, number>();
  for (const [index, item] of items.entries()) {
    spend(1);
    let earlier: number | undefined;
    if (typeof item === 'object' && item !== null) {
      const form = canonical(item, spend);
      earlier = composites.get(form);
      if (earlier === undefined) composites.set(form, index);
    } else {
      earlier = scalars.get(item);
      if (earlier === undefined) scalars.set(item, index);
    }
    if (earlier !== undefined) return [earlier, index];
  }
  return undefined;
}

/** One text for all spellings of a value. Depth is bounded by that of the value. */
function canonical(value: Json, spend: Spend): string {
  spend(1);
  if (Array.isArray(value)) return `[${value.map((item) => canonical(item, spend)).join(',')}]`;
  if (typeof value === 'object' && value !== null) {
    const members = namesOf(value, spend).sort();
    return `{${members.map((key) => `${JSON.stringify(key)}:${canonical(value[key] as Json, spend)}`).join(',')}}`;
  }
  if (typeof value === 'string') spend(value.length >> 6);
  return JSON.stringify(value);
}
