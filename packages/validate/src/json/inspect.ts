import { type Segment, toShortPointer } from './pointer.ts';
import { walkJson } from './walk.ts';

export interface JsonProblem {
  reason: 'syntax' | 'too-deep' | 'duplicate-key' | 'unsafe-number';
  message: string;
  offset: number;
  /** JSON Pointer of the member or element, or of what it is in if that is too long; of the text as a whole for `syntax`. */
  path: string;
}

const maxProblems = 20;
const maxPathLength = 2048;

/**
 * What is wrong with a JSON text beyond its meaning: syntax, depth, a member named twice (parsers disagree which one
 * holds), and numbers that a double would silently change: integers that it cannot hold, and what overflows to infinity.
 *
 * Bounded by the length of the text and by `maxDepth`; at most 20 problems.
 */
export function inspectJson(text: string, maxDepth: number): JsonProblem[] {
  const problems: JsonProblem[] = [];
  const open: { names: Set<string> | undefined; next: Segment }[] = [];
  const path = () =>
    toShortPointer(
      open.map((level) => level.next),
      maxPathLength,
    );
  const step = () => {
    const level = open.at(-1);
    if (typeof level?.next === 'number') level.next++;
  };
  const report = (reason: JsonProblem['reason'], message: string, offset: number) => {
    if (problems.length < maxProblems) problems.push({ reason, message, offset, path: path() });
  };

  const fault = walkJson(text, maxDepth, {
    open: (kind) => {
      step();
      open.push(kind === 'array' ? { names: undefined, next: -1 } : { names: new Set(), next: '' });
    },
    close: () => void open.pop(),
    key: (name, offset) => {
      const level = open.at(-1);
      if (level?.names === undefined) return;
      level.next = name;
      if (level.names.has(name)) report('duplicate-key', `${JSON.stringify(name.slice(0, 80))} is there twice`, offset);
      level.names.add(name);
    },
    scalar: (start, end) => {
      step();
      const c = text.charCodeAt(start);
      if ((c === 0x2d || (c >= 0x30 && c <= 0x39)) && changesInADouble(text.slice(start, end))) {
        report('unsafe-number', `${text.slice(start, Math.min(end, start + 40))} does not fit a double`, start);
      }
    },
  });
  if (fault !== undefined) problems.push({ ...fault, path: fault.reason === 'syntax' ? '' : path() });
  return problems;
}

function changesInADouble(source: string): boolean {
  const value = Number(source);
  if (!Number.isFinite(value)) return true;
  // At most 309 digits from here on: what is longer has overflowed.
  return !Number.isSafeInteger(value) && /^-?\d+$/.test(source) && BigInt(source) !== BigInt(value);
}
