import type { Misfit, SchemaProblem } from '../schema/problem.ts';

export const valueNames = ['input', 'config', 'output'] as const;
export type ValueName = (typeof valueNames)[number];

/** Heads of what the parent sends. Each gets exactly one answer, in order. */
export type Request =
  /** Once, first. The body is the three schemas as JSON texts, one after the other, of these lengths in bytes. */
  | { op: 'load'; sizes: Record<ValueName, number> }
  /** The body is the value as JSON text. */
  | { op: 'check'; which: ValueName }
  /** The body is the stack, `stackBytes` long, and the source map. */
  | { op: 'map'; stackBytes: number };

/** Heads of what the child answers; the body is empty but for `mapped`. */
export type Answer =
  | { kind: 'loaded'; problems: Record<ValueName, SchemaProblem[]> }
  | { kind: 'judged'; misfits: Misfit[] }
  /** The value is not JSON, or holds what JSON readers do not agree on. */
  | { kind: 'not-json'; faults: { reason: string; path: string; message: string }[] }
  | { kind: 'too-costly'; message: string }
  | { kind: 'mapped' }
  /** A defect of ours. */
  | { kind: 'failed'; message: string };

/** What either end accepts. */
export const requestLimits = { headBytes: 4096, bodyBytes: 34 * 1024 * 1024 } as const;
export const answerLimits = { headBytes: 1024 * 1024, bodyBytes: 256 * 1024 } as const;

export const mapLimits = { stackBytes: 64 * 1024, sourceMapBytes: 32 * 1024 * 1024 } as const;
