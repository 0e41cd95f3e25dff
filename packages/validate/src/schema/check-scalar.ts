import type { Json } from '@glovebox/contract';
import { quoted } from '../text.ts';
import { isMultiple } from './decimal.ts';
import { equalJson } from './equal.ts';
import { formats } from './format.ts';
import type { SchemaNode, TypeName } from './node.ts';
import { type At, type Misfits, miss, type Run, show } from './run.ts';

export function checkAny(run: Run, node: SchemaNode, value: Json, at: At | undefined, misfits: Misfits): boolean {
  const { types, enum: values, const: constant } = node;
  let fits = true;
  if (types !== undefined && !types.has(typeOf(value)) && !(types.has('integer') && Number.isInteger(value))) {
    fits = miss(misfits, at, `${node.path}/type`, `must be ${[...types].join(' or ')}, but is ${show(value)}`);
  }
  if (values !== undefined && !values.some((one) => equalJson(one, value, run.spend))) {
    const listed = values.slice(0, 8).map(show).join(', ');
    fits = miss(
      misfits,
      at,
      `${node.path}/enum`,
      `must be one of ${listed}${values.length > 8 ? ', …' : ''}, but is ${show(value)}`,
    );
  }
  if (constant !== undefined && !equalJson(constant.value, value, run.spend)) {
    fits = miss(misfits, at, `${node.path}/const`, `must be ${show(constant.value)}, but is ${show(value)}`);
  }
  return fits;
}

export function checkNumber(_run: Run, node: SchemaNode, value: Json, at: At | undefined, misfits: Misfits): boolean {
  if (typeof value !== 'number') return true;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = node;
  let fits = true;
  if (minimum !== undefined && value < minimum)
    fits = miss(misfits, at, `${node.path}/minimum`, `must be at least ${minimum}, but is ${value}`);
  if (maximum !== undefined && value > maximum)
    fits = miss(misfits, at, `${node.path}/maximum`, `must be at most ${maximum}, but is ${value}`);
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) {
    fits = miss(misfits, at, `${node.path}/exclusiveMinimum`, `must be above ${exclusiveMinimum}, but is ${value}`);
  }
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) {
    fits = miss(misfits, at, `${node.path}/exclusiveMaximum`, `must be below ${exclusiveMaximum}, but is ${value}`);
  }
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) {
    fits = miss(misfits, at, `${node.path}/multipleOf`, `must be a multiple of ${multipleOf}, but is ${value}`);
  }
  return fits;
}

export function checkString(run: Run, node: SchemaNode, value: Json, at: At | undefined, misfits: Misfits): boolean {
  if (typeof value !== 'string') return true;
  const { minLength, maxLength, pattern, format } = node;
  let fits = true;
  if (minLength !== undefined || maxLength !== undefined) {
    run.spend(value.length >> 6);
    const length = codePoints(value);
    if (length < (minLength ?? 0))
      fits = miss(
        misfits,
        at,
        `${node.path}/minLength`,
        `must be at least ${minLength} characters long, but has ${length}`,
      );
    if (length > (maxLength ?? length))
      fits = miss(
        misfits,
        at,
        `${node.path}/maxLength`,
        `must be at most ${maxLength} characters long, but has ${length}`,
      );
  }
  if (pattern !== undefined && !run.matches(pattern, value)) {
    fits = miss(misfits, at, `${node.path}/pattern`, `must match ${quoted(pattern.source)}, but is ${show(value)}`);
  }
  if (format !== undefined) {
    run.spend(value.length >> 5);
    if (!formats[format]?.(value))
      fits = miss(misfits, at, `${node.path}/format`, `must be of the format ${format}, but is ${show(value)}`);
  }
  return fits;
}

function codePoints(text: string): number {
  let count = text.length;
  for (let i = 1; i < text.length; i++) {
    if ((text.charCodeAt(i) & 0xfc00) === 0xdc00 && (text.charCodeAt(i - 1) & 0xfc00) === 0xd800) count--;
  }
  return count;
}

function typeOf(value: Json): TypeName {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value as TypeName;
}
