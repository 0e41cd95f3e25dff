import type { Document, LineCounter } from 'yaml';

/** Where something stands in a text; both count from 1. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** A text of YAML, or of JSON, which is YAML as well. */
export type YamlText =
  | {
      readonly ok: true;
      /** Undefined where there is nothing but comments. */
      readonly value: unknown;
      /** The nearest thing on a path that is there: itself, or what it is missing in. */
      placeOf(path: readonly PropertyKey[]): TextPosition;
      /** Of the name of a member of the whole. */
      placeOfName(name: string): TextPosition;
    }
  | { readonly ok: false; readonly message: string; readonly place: TextPosition };

/** Aliases are refused: a few lines of them stand for more than any memory holds. */
export async function parseYaml(text: string): Promise<YamlText> {
  const { LineCounter: Lines, parseDocument } = await import('yaml');
  const lines = new Lines();
  // Tags would make what no JSON has: a set, which is an object without members to whoever looks for some.
  const options = { strict: true, uniqueKeys: true, resolveKnownTags: false, lineCounter: lines };
  const document = parseDocument(text, options);
  const problem = document.errors[0] ?? document.warnings[0];
  if (problem) {
    const message = (problem.message.split('\n')[0] as string).replace(/ at line.*$/, '');
    return { ok: false, message, place: positionOf(lines, problem.pos[0]) };
  }
  const whole = document.contents?.range?.[0];
  try {
    const value: unknown = document.toJS({ maxAliasCount: 0 }) ?? undefined;
    const { keyOffset, valueOffset } = await offsets(document);
    return {
      ok: true,
      value,
      placeOf: (path) => positionOf(lines, valueOffset(path) ?? whole),
      placeOfName: (name) => positionOf(lines, keyOffset(name) ?? whole),
    };
  } catch {
    return { ok: false, message: 'aliases are not used here', place: positionOf(lines, whole) };
  }
}

function positionOf(lines: LineCounter, offset: number | undefined): TextPosition {
  const { line, col } = lines.linePos(offset ?? 0);
  return { line, column: col };
}

interface Ranged {
  range?: [number] | null;
}

async function offsets(document: Document): Promise<{
  keyOffset(name: string): number | undefined;
  valueOffset(path: readonly PropertyKey[]): number | undefined;
}> {
  const { isMap } = await import('yaml');
  const pairs = isMap(document.contents) ? document.contents.items : [];
  const pairOf = (name: PropertyKey | undefined) => pairs.find(({ key }) => String(key) === String(name));
  const startOf = (node: unknown): number | undefined => (node as Ranged | null | undefined)?.range?.[0];
  return {
    keyOffset: (name) => startOf(pairOf(name)?.key),
    valueOffset(path) {
      for (let length = path.length; length > 0; length--) {
        const start = startOf(document.getIn(path.slice(0, length), true));
        if (start !== undefined) return start;
      }
      // A name without a value.
      return startOf(pairOf(path[0])?.key);
    },
  };
}
