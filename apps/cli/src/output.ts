import { styleText } from 'node:util';
import { type ErrorData, type Finding, formatDuration, type Json, type PhasesMs } from '@glovebox/contract';
import type { JsonMode } from './args.ts';

type Style = Parameters<typeof styleText>[0];

/**
 * Text from a cell, made safe for a terminal: control characters (C0 but tab and line feed, DEL, C1) and those that
 * reorder text are shown as escapes, so that no log line can move the cursor, set a title or type for the user.
 */
export function printable(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be removed
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2028\u2029\u2066-\u2069]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** JSON for a terminal or a pipe; the same characters stand as JSON escapes, so the value is unchanged. */
export function jsonText(value: unknown, indent?: number): string {
  return printable(JSON.stringify(value, undefined, indent));
}

/** Where a command writes: the result on stdout, progress and errors on stderr. */
export class Output {
  readonly json: JsonMode;
  readonly quiet: boolean;

  constructor(json: JsonMode, quiet: boolean) {
    this.json = json;
    this.quiet = quiet;
  }

  /** The result as a document, or its text for people. */
  result(value: unknown, text: () => string): void {
    if (this.json === 'no') process.stdout.write(`${text().replace(/\n+$/, '')}\n`);
    else if (this.json === 'document') process.stdout.write(`${jsonText(value, 2)}\n`);
    else process.stdout.write(`${jsonText({ event: 'result', ...(value as object) })}\n`);
  }

  /** A live event; on stdout only with --json=lines. */
  event(event: { event: string; [key: string]: unknown }): void {
    if (this.json === 'lines') process.stdout.write(`${jsonText(event)}\n`);
  }

  /** A line of progress for people. */
  progress(text: string): void {
    if (this.json === 'no' && !this.quiet) process.stderr.write(`${text}\n`);
  }

  error(error: ErrorData): void {
    if (this.json !== 'no') {
      const { details, ...rest } = error;
      const findings = (details as { findings?: Json } | undefined)?.findings;
      process.stdout.write(
        `${jsonText(this.json === 'lines' ? { event: 'error', error } : { error: rest, ...(findings ? { findings } : {}) }, this.json === 'lines' ? undefined : 2)}\n`,
      );
      return;
    }
    process.stderr.write(`${errorText(error)}\n`);
  }
}

export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(style, text, { stream });
}

export function errorText(error: ErrorData): string {
  const findings = (error.details as { findings?: Finding[] } | undefined)?.findings ?? [];
  const lines = [`${paint(['red', 'bold'], 'error', process.stderr)} ${error.code}: ${printable(error.message)}`];
  if (findings.length > 1) {
    for (const finding of findings)
      lines.push(`  ${placeText(finding)}${printable(finding.message)} (${finding.rule})`);
  } else {
    const place = error.place ?? findings[0]?.place;
    const at = place ? placeText({ place }).trim() : '';
    if (at !== '') lines.push(`  at ${at}`);
  }
  const hint = error.hint;
  if (hint) lines.push(`  ${paint('cyan', 'hint', process.stderr)}: ${printable(hint)}`);
  return lines.join('\n');
}

function placeText({ place }: Pick<Finding, 'place'>): string {
  const position =
    place.line === undefined ? '' : `:${place.line}${place.column === undefined ? '' : `:${place.column}`}`;
  const text = [place.file === undefined ? '' : `${place.file}${position}`, place.path ?? '']
    .filter((part) => part !== '')
    .join(' ');
  return text === '' ? '' : `${printable(text)} `;
}

/** Columns with two spaces between; numbers in a column named in `right` stand right. */
export function table(head: string[], rows: string[][], right: readonly string[] = []): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => (row[i] ?? '').length)));
  const line = (cells: string[]): string =>
    cells
      .map((cell, i) =>
        right.includes(head[i] as string) ? cell.padStart(widths[i] as number) : cell.padEnd(widths[i] as number),
      )
      .join('  ')
      .trimEnd();
  return [paint('bold', line(head)), ...rows.map(line)].join('\n');
}

/** The phases of an attempt as a waterfall, 48 characters wide: each bar begins where the one above it ends. */
export function waterfall(phases: PhasesMs): string {
  const width = 48;
  const total = Object.values(phases).reduce((sum, ms) => sum + ms, 0);
  let before = 0;
  return Object.entries(phases)
    .map(([name, ms]) => {
      const from = total === 0 ? 0 : Math.round((before / total) * width);
      before += ms;
      const to = total === 0 ? 0 : Math.round((before / total) * width);
      const bar = `${' '.repeat(from)}${ms > 0 ? '█'.repeat(Math.max(1, to - from)) : ''}`;
      return `  ${name.padEnd(8)} ${formatDuration(ms).padStart(9)}  ${bar}`;
    })
    .join('\n');
}
