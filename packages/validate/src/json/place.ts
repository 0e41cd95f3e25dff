import type { Edit, Json, Place } from '@glovebox/contract';
import { fromPointer, type Segment } from './pointer.ts';
import { type JsonEvents, walkJson } from './walk.ts';

/** Where each line of a text begins. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1);
  return starts;
}

/** The last line that does not begin behind the offset. */
function lineOf(starts: readonly number[], offset: number): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= offset) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Line and column of an offset. Both count from 1; a column is a UTF-16 code unit, as editors count. */
export function position(
  text: string,
  offset: number,
  starts: readonly number[] = lineStarts(text),
): { line: number; column: number } {
  const line = lineOf(starts, offset);
  return { line: line + 1, column: offset - (starts[line] ?? 0) + 1 };
}

interface Wanted {
  below: Map<string, Wanted>;
  /** Offsets of the member's name. */
  key?: Span;
  /** Where the value begins; and ends, if it is a scalar. */
  value?: number;
  valueEnd?: number;
}

/** Offsets in a text; `end` is exclusive. */
export interface Span {
  start: number;
  end: number;
}

/** A name of a member, quotes included, or the value at a path. */
export interface JsonTarget {
  path: readonly Segment[];
  at: 'key' | 'value';
}

/**
 * Fill in line and column of places whose `path` points into this text: of the member's name with `at: 'key'`, else of
 * the value. A place that is not there gets the position of its nearest ancestor that is.
 *
 * One pass over the text, however many places. The text must be JSON already.
 */
export function locate(text: string, targets: readonly { place: Place; at: 'key' | 'value' }[]): void {
  const root: Wanted = { below: new Map() };
  for (const { place } of targets) want(root, fromPointer(place.path ?? '') ?? []);
  walkJson(text, Number.MAX_SAFE_INTEGER, markWanted(root));
  const starts = lineStarts(text);

  for (const { place, at } of targets) {
    let node = root;
    let offset = root.value ?? 0;
    const path = fromPointer(place.path ?? '') ?? [];
    for (const [depth, segment] of path.entries()) {
      const child = node.below.get(segment);
      if (child?.value === undefined) break;
      offset = at === 'key' && depth === path.length - 1 ? (child.key?.start ?? child.value) : child.value;
      node = child;
    }
    Object.assign(place, position(text, offset, starts));
  }
}

/**
 * Edits that replace names or scalar values of a JSON text, in the order of `replacements`; undefined for one whose target
 * is not there, or is an object or array. One pass over the text, which must be JSON already.
 */
export function jsonEdits(
  file: string,
  text: string,
  replacements: readonly (JsonTarget & { json: Json })[],
): (Edit | undefined)[] {
  const root: Wanted = { below: new Map() };
  const nodes = replacements.map(({ path }) => want(root, path.map(String)));
  walkJson(text, Number.MAX_SAFE_INTEGER, markWanted(root));
  const starts = lineStarts(text);
  return replacements.map(({ at, json }, index) => {
    const node = nodes[index];
    const span = at === 'key' ? node?.key : valueSpan(node);
    if (span === undefined) return undefined;
    const [start, end] = [position(text, span.start, starts), position(text, span.end, starts)];
    return { file, start, end, text: JSON.stringify(json) };
  });
}

const valueSpan = (node: Wanted | undefined): Span | undefined =>
  node?.value === undefined || node.valueEnd === undefined ? undefined : { start: node.value, end: node.valueEnd };

function want(root: Wanted, path: readonly string[]): Wanted {
  let node = root;
  for (const segment of path) {
    const child: Wanted = node.below.get(segment) ?? { below: new Map() };
    node.below.set(segment, child);
    node = child;
  }
  return node;
}

function markWanted(root: Wanted): JsonEvents {
  const open: { node: Wanted | undefined; next: Segment }[] = [];
  let name: Span = { start: 0, end: 0 };
  /** The wanted node of the value that begins here; steps on to the next element of an array. */
  const begin = (offset: number): Wanted | undefined => {
    const parent = open.at(-1);
    const node = parent === undefined ? root : parent.node?.below.get(String(parent.next));
    if (node !== undefined && node.value === undefined) {
      node.value = offset;
      if (typeof parent?.next === 'string') node.key = name;
    }
    if (typeof parent?.next === 'number') parent.next++;
    return node;
  };
  return {
    open: (kind, offset) => void open.push({ node: begin(offset), next: kind === 'array' ? 0 : '' }),
    close: () => void open.pop(),
    key: (text, start, end) => {
      name = { start, end };
      const parent = open.at(-1);
      if (parent !== undefined) parent.next = text;
    },
    scalar: (start, end) => {
      const node = begin(start);
      if (node?.value === start) node.valueEnd = end;
    },
  };
}
