import { errorCatalogue, type Finding } from '@glovebox/contract';
import { printable } from '../printable.ts';

const typescriptFile = /\.(?:ts|tsx|mts|cts)$/i;

/** What TypeScript passes over before the first token: its own white space and line ends, and what JavaScript adds. */
const blank = /[\s\u0085\u200b\ufeff]/;
const lineEnd = /[\n\r\u2028\u2029]/;

/**
 * A finding for every TypeScript file that switches its own check off. All files count, wherever they lie: what src imports
 * is part of the program.
 *
 * `@ts-nocheck` counts for TypeScript only in a line comment before the first token; this takes a block comment for one as
 * well. One pass over the head of each file, nothing is parsed.
 */
export function suppressedTypes(files: ReadonlyMap<string, Uint8Array>): Finding[] {
  const findings: Finding[] = [];
  for (const [path, bytes] of files) {
    if (!typescriptFile.test(path)) continue;
    const line = noCheckLine(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
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

/** The line of the directive in the comments at the head of a text; undefined when there is none. */
function noCheckLine(text: string): number | undefined {
  let at = text.startsWith('#!') || text.startsWith('\ufeff#!') ? endOfLine(text, 0) : 0;
  for (;;) {
    while (at < text.length && blank.test(text.charAt(at))) at++;
    const isBlock = text.startsWith('/*', at);
    if (!isBlock && !text.startsWith('//', at)) return undefined;
    const close = isBlock ? text.indexOf('*/', at + 2) : endOfLine(text, at);
    const end = close === -1 ? text.length : close;
    const found = directive.exec(text.slice(at, end));
    if (found !== null) return lineOf(text, at + found.index);
    at = isBlock ? end + 2 : end;
  }
}

const directive = /@ts-nocheck(?![\w-])/i;

function endOfLine(text: string, from: number): number {
  let at = from;
  while (at < text.length && !lineEnd.test(text.charAt(at))) at++;
  return at;
}

function lineOf(text: string, offset: number): number {
  let line = 1;
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line++;
  return line;
}
