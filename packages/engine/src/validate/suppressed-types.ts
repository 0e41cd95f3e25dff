import { errorCatalogue, type Finding } from '@glovebox/contract';
import { printable } from '../printable.ts';

const typescriptFile = /\.(?:ts|tsx|mts|cts)$/i;

/** What TypeScript passes over before the first token: its own white space and line ends, and what JavaScript adds. */
const blank = /[\s\u0085\u200b\ufeff]/;
const lineEnd = /[\n\r\u2028\u2029]/;

/** In a line comment, from its start. A mark after it, as in `@ts-nocheck: why`, changes nothing. */
const directive = /^\/\/\/?\s*@ts-nocheck(?!\w)/i;

/**
 * A finding for every TypeScript file that switches its own check off. All files count, wherever they lie: what src imports
 * is part of the program.
 *
 * TypeScript obeys `@ts-nocheck` in a line comment before the first token, and nowhere else. One pass over the head of each
 * file; nothing is parsed.
 */
export function suppressedTypes(files: ReadonlyMap<string, Uint8Array>): Finding[] {
  const findings: Finding[] = [];
  for (const [path, bytes] of files) {
    if (!typescriptFile.test(path)) continue;
    const line = noCheckLine(decode(bytes));
    if (line === undefined) continue;
    findings.push({
      rule: 'TYPES_SUPPRESSED',
      severity: 'error',
      message: `${printable(path)} switches the type check off by @ts-nocheck.`,
      hint: errorCatalogue.TYPES_SUPPRESSED.hint,
      place: { file: printable(path), line },
    });
  }
  return findings;
}

/** As TypeScript reads a file: by its byte order mark, else as UTF-8. */
function decode(bytes: Uint8Array): string {
  const mark = (bytes[0] ?? 0) * 256 + (bytes[1] ?? 0);
  const encoding = mark === 0xfffe ? 'utf-16le' : mark === 0xfeff ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding).decode(bytes);
}

/** The line of the directive in the comments at the head of a text; undefined when there is none. */
function noCheckLine(text: string): number | undefined {
  let at = text.startsWith('#!') ? endOfLine(text, 0) : 0;
  for (;;) {
    while (at < text.length && blank.test(text.charAt(at))) at++;
    if (text.startsWith('/*', at)) {
      const close = text.indexOf('*/', at + 2);
      if (close === -1) return undefined;
      at = close + 2;
    } else if (text.startsWith('//', at)) {
      const end = endOfLine(text, at);
      if (directive.test(text.slice(at, end))) return lineOf(text, at);
      at = end;
    } else return undefined;
  }
}

function endOfLine(text: string, from: number): number {
  let at = from;
  while (at < text.length && !lineEnd.test(text.charAt(at))) at++;
  return at;
}

/** As editors count: a line feed, or a carriage return without one, ends a line. */
function lineOf(text: string, offset: number): number {
  return text.slice(0, offset).split(/\r\n?|\n/).length;
}
