import type { Json } from '@glovebox/contract';
import { isObject } from '../json/value.ts';
import { quoted } from '../text.ts';
import { namesOf } from './equal.ts';
import type { SchemaNode } from './node.ts';
import { type At, full, type Misfits, miss, type Run } from './run.ts';

export function checkObject(run: Run, node: SchemaNode, value: Json, at: At | undefined, misfits: Misfits): boolean {
  if (!isObject(value)) return true;
  const { required = [], dependentRequired, minProperties, maxProperties } = node;
  let fits = true;
  for (const name of required) {
    run.spend(1);
    if (!Object.hasOwn(value, name))
      fits = miss(misfits, at, `${node.path}/required`, `the member ${quoted(name)} is missing`);
  }
  for (const [name, others] of dependentRequired ?? []) {
    if (!Object.hasOwn(value, name)) continue;
    for (const other of others) {
      run.spend(1);
      if (Object.hasOwn(value, other)) continue;
      fits = miss(
        misfits,
        at,
        `${node.path}/dependentRequired`,
        `the member ${quoted(other)} is missing: it goes with ${quoted(name)}`,
      );
    }
  }
  if (minProperties !== undefined || maxProperties !== undefined) {
    const count = namesOf(value, run.spend).length;
    if (count < (minProperties ?? 0))
      fits = miss(
        misfits,
        at,
        `${node.path}/minProperties`,
        `must have at least ${minProperties} members, but has ${count}`,
      );
    if (count > (maxProperties ?? count))
      fits = miss(
        misfits,
        at,
        `${node.path}/maxProperties`,
        `must have at most ${maxProperties} members, but has ${count}`,
      );
  }
  return fits;
}

export function checkMembers(run: Run, node: SchemaNode, value: Json, at: At | undefined, misfits: Misfits): boolean {
  const { properties, patternProperties, additionalProperties, propertyNames } = node;
  if (!isObject(value)) return true;
  let fits = true;
  for (const key of namesOf(value, run.spend)) {
    if (full(fits, misfits)) break;
    run.spend(1);
    const member = value[key] as Json;
    const below: At = { above: at, segment: key };
    if (propertyNames !== undefined && !run.fits(propertyNames, key, undefined, null)) {
      fits = miss(misfits, at, propertyNames.path, `the name ${quoted(key)} is not allowed`);
    }
    const own = properties?.get(key);
    let known = own !== undefined;
    if (own !== undefined && !run.fits(own, member, below, misfits)) fits = false;
    for (const { pattern, schema } of patternProperties ?? []) {
      if (!run.matches(pattern, key)) continue;
      known = true;
      if (!run.fits(schema, member, below, misfits)) fits = false;
    }
    if (known || additionalProperties === undefined) continue;
    if (additionalProperties.verdict === false) {
      fits = miss(misfits, below, additionalProperties.path, `the member ${quoted(key)} is not allowed`);
    } else if (!run.fits(additionalProperties, member, below, misfits)) fits = false;
  }
  return fits;
}
