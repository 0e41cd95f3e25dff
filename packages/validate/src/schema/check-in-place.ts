import type { Json } from '@glovebox/contract';
import { shortened } from '../text.ts';
import type { SchemaNode } from './node.ts';
import type { Misfit } from './problem.ts';
import { type At, full, type Misfits, miss, pointerOf, type Run, show } from './run.ts';

/** Of the place that a message names. */
const maxPlaceLength = 200;

export function checkInPlace(run: Run, node: SchemaNode, value: Json, at: At | undefined, misfits: Misfits): boolean {
  const { ref, allOf, anyOf, oneOf, not, condition, consequence, alternative } = node;
  let fits = ref === undefined || run.fits(ref, value, at, misfits);
  if (allOf !== undefined) {
    for (const schema of allOf) {
      if (full(fits, misfits)) return fits;
      if (!run.fits(schema, value, at, misfits)) fits = false;
    }
  }
  if (anyOf !== undefined && !full(fits, misfits) && !anyFits(run, anyOf, value, at, misfits, `${node.path}/anyOf`))
    fits = false;
  if (oneOf !== undefined && !full(fits, misfits) && !oneFits(run, oneOf, value, at, misfits, `${node.path}/oneOf`))
    fits = false;
  if (not !== undefined && !full(fits, misfits) && run.fits(not, value, undefined, null)) {
    fits = miss(misfits, at, not.path, `must not match what it matches: ${show(value)}`);
  }
  if (condition !== undefined && !full(fits, misfits)) {
    const branch = run.fits(condition, value, undefined, null) ? consequence : alternative;
    if (branch !== undefined && !run.fits(branch, value, at, misfits)) fits = false;
  }
  return fits;
}

function anyFits(
  run: Run,
  schemas: readonly SchemaNode[],
  value: Json,
  at: At | undefined,
  misfits: Misfits,
  path: string,
): boolean {
  if (schemas.some((schema) => run.fits(schema, value, at, null))) return true;
  return miss(
    misfits,
    at,
    path,
    `matches none of ${schemas.length} alternatives${closest(run, schemas, value, at, misfits)}`,
  );
}

function oneFits(
  run: Run,
  schemas: readonly SchemaNode[],
  value: Json,
  at: At | undefined,
  misfits: Misfits,
  path: string,
): boolean {
  const matching = [...schemas.keys()].filter((index) => run.fits(schemas[index] as SchemaNode, value, at, null));
  if (matching.length === 1) return true;
  if (matching.length === 0) {
    return miss(
      misfits,
      at,
      path,
      `matches none of ${schemas.length} alternatives${closest(run, schemas, value, at, misfits)}`,
    );
  }
  return miss(misfits, at, path, `must match one alternative only, but matches ${matching.slice(0, 8).join(', ')}`);
}

/** What keeps a value from the alternative that it comes furthest into: most likely the one that was meant. */
function closest(run: Run, schemas: readonly SchemaNode[], value: Json, at: At | undefined, misfits: Misfits): string {
  if (misfits === null) return '';
  let best: Misfit | undefined;
  for (const schema of schemas) {
    const inBranch: Misfit[] = [];
    run.fits(schema, value, at, inBranch);
    const [first] = inBranch;
    if (first !== undefined && depthOf(first) > (best === undefined ? -1 : depthOf(best))) best = first;
  }
  if (best === undefined) return '';
  const place = best.instancePath === pointerOf(at) ? '' : `${shortened(best.instancePath, maxPlaceLength)} `;
  return `; closest: ${place}${best.message}`;
}

const depthOf = (misfit: Misfit): number => misfit.instancePath.split('/').length;
