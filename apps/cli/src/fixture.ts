import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { GloveboxError, type Json } from '@glovebox/contract';
import type { TrialResult } from '@glovebox/engine';
import { z } from 'zod';
import { usage } from './args.ts';
import { requireJson } from './values.ts';

const fixtureSchema = z.strictObject({
  input: z.json(),
  config: z.json().optional(),
  expect: z.union([z.strictObject({ output: z.json() }), z.strictObject({ error: z.string() })]),
});

export type Fixture = z.infer<typeof fixtureSchema> & { name: string };

/** How the run compared with what the fixture expects. */
export interface FixtureVerdict {
  name: string;
  matches: boolean;
  /** JSON Pointer to the first difference in the output. */
  differsAt?: string;
  expected?: Json;
}

/** @throws GloveboxError `USAGE`, `INPUT_UNREADABLE`, `INPUT_NOT_JSON`, `INPUT_INVALID`. */
export async function readFixture(packageDir: string, name: string): Promise<Fixture> {
  if (!/^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/.test(name))
    throw usage('node run', `--fixture ${name} is not the name of a fixture`);
  const file = join(packageDir, 'fixtures', `${name.replace(/\.json$/, '')}.json`);
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new GloveboxError('INPUT_UNREADABLE', {
      message: `There is no fixture ${name}.`,
      hint: 'Fixtures are fixtures/<name>.json in the package.',
      place: { file },
      cause: error,
    });
  });
  const value = await requireJson(`The fixture ${name}`, text, { file });
  const fixture = fixtureSchema.safeParse(value);
  if (!fixture.success) {
    const issue = fixture.error.issues[0];
    throw new GloveboxError('INPUT_INVALID', {
      message: `The fixture ${name} is not valid: ${issue?.path.join('/')} ${issue?.message}.`,
      hint: 'A fixture is { input, config?, expect: { output } | { error: code } }.',
      place: { file, path: `/${(issue?.path ?? []).join('/')}` },
    });
  }
  return { ...fixture.data, name };
}

export function judgeFixture(
  fixture: Fixture,
  result: Pick<TrialResult, 'state' | 'output' | 'error'>,
): FixtureVerdict {
  const { name, expect } = fixture;
  if ('error' in expect) {
    return result.error?.code === expect.error
      ? { name, matches: true }
      : { name, matches: false, expected: { error: expect.error } };
  }
  if (result.state !== 'SUCCEEDED') return { name, matches: false, expected: { state: 'SUCCEEDED' } };
  const differsAt = firstDifference(expect.output, result.output, '');
  return differsAt === undefined
    ? { name, matches: true }
    : { name, matches: false, differsAt: differsAt.path, expected: differsAt.expected };
}

/** Where two JSON values first differ; the order of an object's keys does not count. Values are bounded in depth by the parser. */
function firstDifference(expected: Json, actual: Json, path: string): { path: string; expected: Json } | undefined {
  if (isDeepStrictEqual(expected, actual)) return undefined;
  if (Array.isArray(expected) && Array.isArray(actual) && expected.length === actual.length) {
    for (const [i, value] of expected.entries()) {
      const inside = firstDifference(value, actual[i] as Json, `${path}/${i}`);
      if (inside) return inside;
    }
  } else if (isObject(expected) && isObject(actual)) {
    for (const [key, value] of Object.entries(expected)) {
      const pointer = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
      if (!Object.hasOwn(actual, key)) return { path: pointer, expected: value };
      const inside = firstDifference(value, actual[key] as Json, pointer);
      if (inside) return inside;
    }
  }
  return { path, expected };
}

function isObject(value: Json): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
