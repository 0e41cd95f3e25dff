import { schemaLimits } from '../schema/limits.ts';
import type { Misfit, SchemaProblem } from '../schema/problem.ts';
import type { Answer } from './protocol.ts';

const maxItems = 100;

/**
 * The head of an answer, if it has the shape of one. The child has worked on hostile bytes: what it says is as little
 * believed as they are.
 */
export function parseAnswer(head: Buffer): Answer | undefined {
  let value: unknown;
  try {
    value = JSON.parse(head.toString());
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { kind } = value;
  if (kind === 'mapped') return { kind };
  if (kind === 'too-costly' || kind === 'failed') {
    return isText(value.message) ? { kind, message: value.message } : undefined;
  }
  if (kind === 'judged') {
    return isList(value.misfits, isMisfit) ? { kind, misfits: value.misfits.map(pickMisfit) } : undefined;
  }
  if (kind === 'not-json') {
    return isList(value.faults, isFault)
      ? { kind, faults: value.faults.map(({ reason, path, message }) => ({ reason, path, message })) }
      : undefined;
  }
  if (kind === 'loaded' && isRecord(value.problems)) {
    const { input, config, output } = value.problems;
    if (!isList(input, isProblem) || !isList(config, isProblem) || !isList(output, isProblem)) return undefined;
    return {
      kind,
      problems: { input: input.map(pickProblem), config: config.map(pickProblem), output: output.map(pickProblem) },
    };
  }
  return undefined;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown, max: number = schemaLimits.messageLength): value is string =>
  typeof value === 'string' && value.length <= max;

function isList<T>(value: unknown, isItem: (item: unknown) => item is T): value is T[] {
  return Array.isArray(value) && value.length <= maxItems && value.every(isItem);
}

function isMisfit(value: unknown): value is Misfit {
  return (
    isRecord(value) &&
    isText(value.instancePath, schemaLimits.pathLength) &&
    isText(value.schemaPath, schemaLimits.pathLength) &&
    isText(value.message)
  );
}

function isFault(value: unknown): value is { reason: string; path: string; message: string } {
  return (
    isRecord(value) && isText(value.reason) && isText(value.path, schemaLimits.pathLength) && isText(value.message)
  );
}

function isProblem(value: unknown): value is SchemaProblem {
  return (
    isRecord(value) &&
    (value.rule === 'SCHEMA_UNSUPPORTED' || value.rule === 'SCHEMA_TOO_COSTLY') &&
    isText(value.path, schemaLimits.pathLength) &&
    isText(value.message) &&
    (value.hint === undefined || isText(value.hint))
  );
}

const pickMisfit = ({ instancePath, schemaPath, message }: Misfit): Misfit => ({ instancePath, schemaPath, message });
const pickProblem = ({ rule, path, message, hint }: SchemaProblem): SchemaProblem => ({
  rule,
  path,
  message,
  ...(hint === undefined ? {} : { hint }),
});
