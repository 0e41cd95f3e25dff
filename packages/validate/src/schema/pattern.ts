import { schemaLimits } from './limits.ts';

/** A regular expression of the author. `test` takes time linear in the text, whatever the expression. */
export interface Pattern {
  readonly source: string;
  /** How many instructions it is; each character of a text may meet all of them. */
  size: number;
  test(text: string): boolean;
}

/** The regular expression engine, loaded by the first pattern: most schemas have none, and it is a quarter of a megabyte. */
export type LoadEngine = () => Promise<Pick<typeof import('re2js'), 'RE2JS'>>;

export const loadEngine: LoadEngine = () => import('re2js');

/** An expression that is not compiled yet. */
export function uncompiled(source: string): Pattern {
  return {
    source,
    size: 0,
    test: () => {
      throw new Error('the pattern was not compiled');
    },
  };
}

/**
 * Compile on RE2, which knows no backtracking. The syntax is what ECMA-262 and RE2 have in common and mean alike, so
 * that an expression never silently means something else: no look-around, no back-references, no inline flags, no POSIX
 * classes. Where the two differ in detail RE2 holds: `\s` is ASCII white space, `.` is anything but a line feed.
 *
 * @returns why it is not supported; undefined when it is compiled.
 */
export async function compilePattern(pattern: Pattern, load: LoadEngine): Promise<string | undefined> {
  const { source } = pattern;
  if (source.length > schemaLimits.patternLength) return `is longer than ${schemaLimits.patternLength} characters`;
  const foreign = foreignSyntax(source);
  if (foreign !== undefined) return foreign;
  const { RE2JS } = await load();
  try {
    const compiled = RE2JS.compile(RE2JS.translateRegExp(source));
    pattern.size = compiled.programSize();
    pattern.test = (text) => compiled.test(text);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message.slice(0, 200) : 'is not a regular expression';
  }
}

/** Escapes with a letter or digit that both sides know; punctuation stands for itself in both. */
const knownEscapes = 'dDwWsSbBnrtfv0xucpP';

/** Syntax that only one side has, or that the two read differently. */
function foreignSyntax(source: string): string | undefined {
  for (let at = 0; at < source.length; at++) {
    const c = source[at];
    const next = source[at + 1] ?? '';
    if (c === '\\') {
      if (/[1-9]/.test(next) || next === 'k') return 'has a back-reference';
      if (/[A-Za-z0-9]/.test(next) && !knownEscapes.includes(next)) return `has the unknown escape \\${next}`;
      if (next === '0' && /\d/.test(source[at + 2] ?? '')) return 'has an octal escape';
      at++;
    } else if (c === '(' && next === '?') {
      const kind = source.slice(at + 2, at + 4);
      if (/^(?:[=!]|<[=!])/.test(kind)) return 'has a look-around';
      if (kind[0] !== ':' && kind[0] !== '<') return `has the unknown group (?${kind[0] ?? ''}`;
    } else if (c === '[' && (next === ':' || source.startsWith('[^:', at)) && /:\]/.test(source.slice(at))) {
      return 'has a POSIX class';
    }
  }
  return undefined;
}
