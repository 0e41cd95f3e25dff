import type { Json } from '@glovebox/contract';
import { type Segment, shortPointer, toShortPointer } from '../json/pointer.ts';
import { quoted, shortened } from '../text.ts';
import type { Spend } from './equal.ts';
import { schemaLimits } from './limits.ts';
import type { SchemaNode } from './node.ts';
import type { Pattern } from './pattern.ts';
import type { Misfit } from './problem.ts';

/** One evaluation under way: its budget, and how a check judges by another schema. */
export interface Run {
  readonly spend: Spend;
  fits(node: SchemaNode, value: Json, at: At | undefined, misfits: Misfits): boolean;
  matches(pattern: Pattern, text: string): boolean;
}

/** Where in the value: built on the way down, turned into a pointer only when told. */
export interface At {
  above: At | undefined;
  segment: Segment;
}

/** Where misfits go; null when only the verdict is wanted, and the first misfit is enough. */
export type Misfits = Misfit[] | null;

/** What some keywords of a schema say of a value. */
export type Check = (run: Run, node: SchemaNode, value: Json, at: At | undefined, misfits: Misfits) => boolean;

export function miss(misfits: Misfits, at: At | undefined, schemaPath: string, message: string): false {
  if (misfits !== null && misfits.length < schemaLimits.misfits) {
    misfits.push({
      instancePath: pointerOf(at),
      schemaPath: shortPointer(schemaPath, schemaLimits.pathLength),
      message: shortened(message, schemaLimits.messageLength),
    });
  }
  return false;
}

/** To the place itself, or to its nearest ancestor whose pointer is short enough. */
export function pointerOf(at: At | undefined): string {
  const segments: Segment[] = [];
  for (let step = at; step !== undefined; step = step.above) segments.push(step.segment);
  return toShortPointer(segments.reverse(), schemaLimits.pathLength);
}

/** Whether nothing that is found from here on would change the answer. */
export function full(fits: boolean, misfits: Misfits): boolean {
  return !fits && (misfits === null || misfits.length >= schemaLimits.misfits);
}

/** A value in a message: never more than 80 characters of it. */
export function show(value: Json): string {
  if (typeof value === 'string') return quoted(value, 60);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return typeof value === 'object' && value !== null ? 'an object' : String(value);
}
