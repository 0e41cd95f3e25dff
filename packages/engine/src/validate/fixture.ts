import type { Json } from '@glovebox/contract';
import { firstDifference } from './compare.ts';

/** What a node is given, and what must come of it. */
export interface Fixture {
  input: Json;
  config: Json;
  /** The cassette that answers its requests. */
  http: string | undefined;
  expect: { output: Json } | { error: string };
}

/** How a run compared with what its fixture expects. */
export interface FixtureVerdict {
  name: string;
  matches: boolean;
  /** JSON Pointer to the first difference in the output. */
  differsAt?: string;
  /** What was expected there; absent where nothing was. */
  expected?: Json;
  /** What came instead of an output that was expected; absent where nothing did. */
  actual?: Json;
  /** Requests that its cassette has not. */
  missed?: number;
}

/** `path` is a JSON Pointer in the fixture. */
export type ReadFixture = { ok: true; fixture: Fixture } | { ok: false; path: string; message: string };

const members: ReadonlySet<string> = new Set(['input', 'config', 'http', 'expect']);

/**
 * Take a fixture from a JSON value: `{ input, config?, http?, expect: { output } | { error } }`, and no other member. The
 * values in it are data and stay as they are, members called `__proto__` included.
 */
export function readFixture(value: Json): ReadFixture {
  const fault = (path: string, message: string): ReadFixture => ({ ok: false, path, message });
  if (!isObject(value)) return fault('', 'a fixture is an object');
  const unknown = Object.keys(value).find((key) => !members.has(key));
  if (unknown !== undefined) return fault(pointer(unknown), `unknown member ${JSON.stringify(unknown.slice(0, 80))}`);
  const { input, config = {}, http, expect } = value;
  if (input === undefined) return fault('/input', 'input is missing');
  if (http !== undefined && typeof http !== 'string') return fault('/http', 'http must be the name of a cassette');
  if (expect === undefined) return fault('/expect', 'expect is missing');
  const keys = isObject(expect) ? Object.keys(expect) : [];
  if (!isObject(expect) || keys.length !== 1) return fault('/expect', 'expect must be { output } or { error }');
  const { output, error } = expect;
  if (output !== undefined) return { ok: true, fixture: { input, config, http, expect: { output } } };
  if (typeof error !== 'string' || error === '' || error.length > 200)
    return fault('/expect', 'expect must be { output } or { error: code }');
  return { ok: true, fixture: { input, config, http, expect: { error } } };
}

/** Compare what came of a run with what a fixture expects. */
export function judgeFixture(
  name: string,
  { expect }: Pick<Fixture, 'expect'>,
  result: { state: string; output: Json | null; error: { code: string } | null },
): FixtureVerdict {
  if ('error' in expect) {
    return result.error?.code === expect.error
      ? { name, matches: true }
      : { name, matches: false, expected: { error: expect.error } };
  }
  if (result.state !== 'SUCCEEDED') return { name, matches: false, expected: { state: 'SUCCEEDED' } };
  const difference = firstDifference(expect.output, result.output);
  if (difference === undefined) return { name, matches: true };
  const { path, expected, actual } = difference;
  return {
    name,
    matches: false,
    differsAt: path,
    ...(expected === undefined ? {} : { expected }),
    ...(actual === undefined ? {} : { actual }),
  };
}

const pointer = (key: string): string => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;

function isObject(value: Json): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
