import type { Json } from '@glovebox/contract';
import { firstDuplicate } from './equal.ts';
import type { SchemaNode } from './node.ts';
import { type At, full, type Misfits, miss, type Run } from './run.ts';

export function checkArray(run: Run, node: SchemaNode, value: Json, at: At | undefined, misfits: Misfits): boolean {
  if (!Array.isArray(value)) return true;
  const { minItems, maxItems, prefixItems = [], items, uniqueItems } = node;
  let fits = true;
  if (minItems !== undefined && value.length < minItems) {
    fits = miss(
      misfits,
      at,
      `${node.path}/minItems`,
      `must have at least ${minItems} elements, but has ${value.length}`,
    );
  }
  if (maxItems !== undefined && value.length > maxItems) {
    fits = miss(
      misfits,
      at,
      `${node.path}/maxItems`,
      `must have at most ${maxItems} elements, but has ${value.length}`,
    );
  }
  for (let index = 0; index < value.length; index++) {
    const schema = prefixItems[index] ?? items;
    if (schema === undefined || full(fits, misfits)) break;
    if (!run.fits(schema, value[index] as Json, { above: at, segment: index }, misfits)) fits = false;
  }
  if (uniqueItems && !full(fits, misfits)) {
    const pair = firstDuplicate(value, run.spend);
    if (pair !== undefined)
      fits = miss(
        misfits,
        at,
        `${node.path}/uniqueItems`,
        `must have no element twice, but ${pair[0]} and ${pair[1]} are equal`,
      );
  }
  return checkContains(run, node, value, at, misfits) && fits;
}

function checkContains(run: Run, node: SchemaNode, value: Json[], at: At | undefined, misfits: Misfits): boolean {
  const { contains, minContains = 1, maxContains } = node;
  if (contains === undefined) return true;
  let count = 0;
  for (const item of value) if (run.fits(contains, item, undefined, null)) count++;
  if (count < minContains)
    return miss(
      misfits,
      at,
      `${node.path}/contains`,
      `must have at least ${minContains} elements that match contains, but has ${count}`,
    );
  if (maxContains !== undefined && count > maxContains) {
    return miss(
      misfits,
      at,
      `${node.path}/maxContains`,
      `must have at most ${maxContains} elements that match contains, but has ${count}`,
    );
  }
  return true;
}
