import { GloveboxError, type Json, type Place, parseJson } from '@glovebox/contract';
import { valueLimits } from '@glovebox/engine';
import { usage } from './args.ts';
import { readTextFile } from './text-file.ts';

/**
 * A value given on the command line: JSON text, or `@file`, or `@-` for stdin. Left out, it is `{}`.
 * @throws GloveboxError `INPUT_UNREADABLE`, `INPUT_NOT_JSON` with line and column.
 */
export async function readValue(name: 'input' | 'config', given: string | undefined): Promise<string> {
  if (given === undefined) return '{}';
  const file = given.startsWith('@') ? given.slice(1) : undefined;
  const text = file === undefined ? given : await readFileText(name, file);
  await requireJson(`--${name}`, text, file === undefined ? { path: `/${name}` } : { file });
  return text;
}

/** @throws GloveboxError `INPUT_NOT_JSON` at the place, with line and column where the text is not JSON. */
export async function requireJson(what: string, text: string, place: Place): Promise<Json> {
  const parsed = parseJson(text, valueLimits);
  if (parsed.ok) return parsed.value;
  const { inspectJson, position } = await import('@glovebox/validate');
  const offset = inspectJson(text, valueLimits.maxDepth)[0]?.offset;
  throw new GloveboxError('INPUT_NOT_JSON', {
    message: `${what} is not usable JSON: ${parsed.detail}.`,
    place: { ...place, ...(offset === undefined ? {} : position(text, offset)) },
    ...(place.file === undefined ? { hint: 'Pass JSON text, or @file with a JSON file.' } : {}),
  });
}

/** The input with `NAME=@FILE` fields set to the text of files: for data that is not JSON, such as CSV. */
export async function withTextFields(inputText: string, fields: string[] | undefined): Promise<string> {
  if (fields === undefined) return inputText;
  const value = JSON.parse(inputText) as Json;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw usage('node run', '--input-text needs an input that is an object');
  const entries = new Map(Object.entries(value));
  for (const field of fields) {
    const match = /^([^=]{1,200})=@(.+)$/s.exec(field);
    if (!match) throw usage('node run', `--input-text ${field} is not NAME=@FILE`);
    entries.set(match[1] as string, await readFileText('input', match[2] as string));
  }
  return exactJson(Object.fromEntries(entries));
}

/** TC39 proposal JSON.parse source text access, which the library types do not know yet. */
const rawJson = JSON as typeof JSON & { rawJSON(text: string): unknown };

/** JSON text of a value that came from JSON text: the same value, negative zero and members called `__proto__` included. */
export function exactJson(value: Json): string {
  return JSON.stringify(value, (_key, member) => (Object.is(member, -0) ? rawJson.rawJSON('-0') : member));
}

async function readFileText(name: string, path: string): Promise<string> {
  const refuse = (why: string, cause?: unknown): GloveboxError =>
    new GloveboxError('INPUT_UNREADABLE', {
      message: `The ${name} file ${path === '-' ? 'on standard input' : path} ${why}.`,
      hint: 'Pass a readable file of UTF-8 text.',
      place: { file: path },
      cause,
    });
  return readTextFile(path, valueLimits.maxBytes, refuse);
}
