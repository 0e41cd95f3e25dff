import { open } from 'node:fs/promises';
import { GloveboxError, parseJson } from '@glovebox/contract';
import { valueLimits } from '@glovebox/engine';
import { usage } from './args.ts';

/**
 * A value given on the command line: JSON text, or `@file`, or `@-` for stdin. Left out, it is `{}`.
 * @throws GloveboxError `INPUT_UNREADABLE`, `INPUT_NOT_JSON`.
 */
export async function readValue(name: 'input' | 'config', given: string | undefined): Promise<string> {
  const text = given === undefined ? '{}' : given.startsWith('@') ? await readFileText(name, given.slice(1)) : given;
  const parsed = parseJson(text, valueLimits);
  if (parsed.ok) return text;
  throw new GloveboxError('INPUT_NOT_JSON', {
    message: `--${name} is not usable JSON: ${parsed.detail}.`,
    ...(given?.startsWith('@')
      ? { place: { file: given.slice(1) } }
      : { place: { path: `/${name}` }, hint: 'Pass JSON text, or @file with a JSON file.' }),
  });
}

/** The input with `NAME=@FILE` fields set to the text of files: for data that is not JSON, such as CSV. */
export async function withTextFields(inputText: string, fields: string[] | undefined): Promise<string> {
  if (fields === undefined) return inputText;
  const value = JSON.parse(inputText) as unknown;
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw usage('node run', '--input-text needs an input that is an object');
  const entries = new Map(Object.entries(value));
  for (const field of fields) {
    const match = /^([^=]{1,200})=@(.+)$/s.exec(field);
    if (!match) throw usage('node run', `--input-text ${field} is not NAME=@FILE`);
    entries.set(match[1] as string, await readFileText('input', match[2] as string));
  }
  return JSON.stringify(Object.fromEntries(entries));
}

async function readFileText(name: string, path: string): Promise<string> {
  try {
    if (path === '-') return await readBounded(process.stdin);
    const file = await open(path, 'r');
    try {
      return await readBounded(file.createReadStream({ autoClose: false }));
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof GloveboxError) throw error;
    throw new GloveboxError('INPUT_UNREADABLE', {
      message: `The ${name} file ${path} cannot be read: ${(error as Error).message}.`,
      place: { file: path },
      cause: error,
    });
  }
}

async function readBounded(source: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of source) {
    bytes += chunk.byteLength;
    if (bytes > valueLimits.maxBytes)
      throw new GloveboxError('INPUT_UNREADABLE', {
        message: `The input is over ${valueLimits.maxBytes} bytes.`,
        hint: 'Pass less.',
      });
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (error) {
    throw new GloveboxError('INPUT_UNREADABLE', {
      message: 'The input is not UTF-8.',
      hint: 'Convert it to UTF-8.',
      cause: error,
    });
  }
}
