import type { Json } from '@glovebox/contract';
import { checkArray } from './check-array.ts';
import { checkInPlace } from './check-in-place.ts';
import { checkObject } from './check-object.ts';
import { checkAny, checkNumber, checkString } from './check-scalar.ts';
import { schemaLimits } from './limits.ts';
import type { SchemaNode } from './node.ts';
import type { Pattern } from './pattern.ts';
import { type Misfit, TooCostly } from './problem.ts';
import { type At, type Check, type Misfits, miss, type Run } from './run.ts';

/**
 * Judge a value by a schema.
 *
 * @returns where it does not fit, at most 20 places; empty when it fits.
 * @throws TooCostly when the budget of steps or of nesting is spent. The outcome does not depend on the machine's speed.
 */
export function evaluateSchema(root: SchemaNode, value: Json, steps: number = schemaLimits.steps): Misfit[] {
  const run = new Evaluation(steps);
  const misfits: Misfit[] = [];
  run.fits(root, value, undefined, misfits);
  return misfits;
}

const checks: readonly Check[] = [checkAny, checkNumber, checkString, checkArray, checkObject, checkInPlace];

class Evaluation implements Run {
  #steps: number;
  #nesting = 0;

  constructor(steps: number) {
    this.#steps = steps;
  }

  readonly spend = (steps: number): void => {
    this.#steps -= steps;
    if (this.#steps < 0) throw new TooCostly('the budget of steps is spent');
  };

  fits(node: SchemaNode, value: Json, at: At | undefined, misfits: Misfits): boolean {
    this.spend(1);
    if (node.verdict === true) return true;
    if (node.verdict === false) return miss(misfits, at, node.path, 'nothing is allowed here');
    if (++this.#nesting > schemaLimits.nesting) throw new TooCostly('schemas nest too deep');
    let fits = true;
    for (const check of checks) {
      if (check(this, node, value, at, misfits)) continue;
      fits = false;
      if (misfits === null || misfits.length >= schemaLimits.misfits) break;
    }
    this.#nesting--;
    return fits;
  }

  matches(pattern: Pattern, text: string): boolean {
    this.spend(1 + Math.ceil((text.length * pattern.size) / 64));
    return pattern.test(text);
  }
}
