import type { Json } from '@glovebox/contract';
import { checkArray } from './check-array.ts';
import { checkInPlace } from './check-in-place.ts';
import { checkMembers, checkObject } from './check-object.ts';
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

type Keyword = Exclude<keyof SchemaNode, 'path' | 'verdict' | 'checks'>;

const checks: readonly { check: Check; keywords: readonly Keyword[] }[] = [
  { check: checkAny, keywords: ['types', 'enum', 'const'] },
  { check: checkNumber, keywords: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'] },
  { check: checkString, keywords: ['minLength', 'maxLength', 'pattern', 'format'] },
  { check: checkArray, keywords: ['minItems', 'maxItems', 'prefixItems', 'items', 'uniqueItems', 'contains'] },
  { check: checkObject, keywords: ['required', 'dependentRequired', 'minProperties', 'maxProperties'] },
  { check: checkMembers, keywords: ['properties', 'patternProperties', 'additionalProperties', 'propertyNames'] },
  { check: checkInPlace, keywords: ['ref', 'allOf', 'anyOf', 'oneOf', 'not', 'condition'] },
];

/** Most schemas have a few keywords, and are met by many values. */
function checksOf(node: SchemaNode): readonly Check[] {
  return checks.filter(({ keywords }) => keywords.some((name) => node[name] !== undefined)).map(({ check }) => check);
}

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
    node.checks ??= checksOf(node);
    for (const check of node.checks) {
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
