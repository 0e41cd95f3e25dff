import { styleText } from 'node:util';
import {
  type ErrorData,
  type Finding,
  formatDuration,
  type Json,
  type PhasesMs,
  type Place,
  type ReportFinding,
} from '@glovebox/contract';
import type { JsonMode } from './args.ts';

type Style = Parameters<typeof styleText>[0];

/** Control characters (C0 but tab and line feed, DEL, C1), line separators, and what reorders text. */
const controls = '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]';
const unprintable = new RegExp(controls, 'g');
/** A change of colour, whole, or one character that is no such. */
const unprintableButColor = new RegExp(`\\u001b\\[[0-9;]{0,16}m|${controls}`, 'g');

const asEscape = (c: string): string => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`;

/**
 * Text from a cell, made safe for a terminal: control characters and those that reorder text are shown as escapes, so
 * that no log line can move the cursor, set a title, type for the user or pass for another text.
 */
export function printable(text: string): string {
  return text.replace(unprintable, asEscape);
}

/** The same in one line, for what stands in a table or beside other words. */
export function oneLine(text: string): string {
  return printable(text).replace(/[\t\n]/g, (c) => (c === '\n' ? '\\n' : ' '));
}

/** The same with every line after the first one indented, so that none of them passes for a line of ours. */
export function indented(text: string, indent: string): string {
  return printable(text).replaceAll('\n', `\n${indent}`);
}

/** The same for text of ours with colours in it: the last net, for what was not made printable where it came in. */
function terminalSafe(text: string): string {
  return text.replace(unprintableButColor, (found) => (found.length > 1 ? found : asEscape(found)));
}

/** JSON for a terminal or a pipe; the same characters stand as JSON escapes, so the value is unchanged. */
export function jsonText(value: unknown, indent?: number): string {
  return printable(JSON.stringify(value, undefined, indent));
}

/**
 * Where a command writes: the result on stdout, progress and errors on stderr. A reader that goes away is no error; what
 * is written after that is dropped.
 */
export class Output {
  json: JsonMode;
  quiet: boolean;
  #closed = false;
  #whenClosed = (): void => undefined;

  /** One for a process: it listens to the errors of its streams. */
  constructor(json: JsonMode, quiet: boolean) {
    this.json = json;
    this.quiet = quiet;
    process.stdout.on('error', () => {
      if (this.#closed) return;
      this.#closed = true;
      this.#whenClosed();
    });
    process.stderr.on('error', () => undefined);
  }

  /** Whether the reader of stdout is gone. */
  get isClosed(): boolean {
    return this.#closed;
  }

  onClosed(action: () => void): void {
    this.#whenClosed = action;
  }

  /** The result as a document, or its text for people. */
  result(value: object, text: () => string): void {
    if (this.json === 'no') this.text(text());
    else if (this.json === 'document') this.#write(jsonText(value, 2));
    else this.#write(jsonText({ event: 'result', ...value }));
  }

  /** Text for people on stdout, ending with one line feed; nothing where there is none. */
  text(text: string): void {
    const end = text.replace(/\n+$/, '');
    if (end !== '') this.#write(terminalSafe(end));
  }

  /** On stdout as it is: only for text that holds nothing of a cell's but in base64. */
  raw(text: string): void {
    if (!this.#closed) process.stdout.write(text);
  }

  /** One JSON value in one line of stdout. */
  line(value: object): void {
    this.#write(jsonText(value));
  }

  /** A live event; on stdout only with --json=lines. */
  event(event: { event: string; [key: string]: unknown }): void {
    if (this.json === 'lines') this.line(event);
  }

  /** Whether anybody is told of progress. */
  get showsProgress(): boolean {
    return this.json === 'no' && !this.quiet;
  }

  /** A line of progress for people. */
  progress(text: string): void {
    if (this.showsProgress) this.complain(text);
  }

  /** Progress that moves the cursor of a terminal: text of ours alone. */
  drawProgress(text: string): void {
    if (this.showsProgress) process.stderr.write(text);
  }

  /** A line on stderr, whatever the options say. */
  complain(text: string): void {
    process.stderr.write(`${terminalSafe(text)}\n`);
  }

  error(error: ErrorData): void {
    if (this.json === 'no') {
      this.complain(errorText(error));
      return;
    }
    // Findings stand beside the error, as they do beside a report.
    const { details, ...rest } = error;
    const { findings, ...others } = isMembers(details) ? details : {};
    const told = isMembers(details) ? (Object.keys(others).length === 0 ? undefined : others) : details;
    const document = {
      error: { ...rest, ...(told === undefined ? {} : { details: told }) },
      ...(findings === undefined ? {} : { findings }),
    };
    if (this.json === 'lines') this.line({ event: 'error', ...document });
    else this.#write(jsonText(document, 2));
  }

  #write(text: string): void {
    if (!this.#closed) process.stdout.write(`${text}\n`);
  }
}

const isMembers = (details: Json | undefined): details is { [name: string]: Json } =>
  typeof details === 'object' && details !== null && !Array.isArray(details);

export function paint(style: Style, text: string, stream: NodeJS.WriteStream = process.stdout): string {
  return styleText(style, text, { stream });
}

export function errorText(error: ErrorData): string {
  const findings = (error.details as { findings?: AnyFinding[] } | undefined)?.findings ?? [];
  const label = paint(['red', 'bold'], 'error', process.stderr);
  const lines = [`${label} ${error.code}: ${indented(error.message, '  ')}`];
  const [first] = findings;
  // One that says what the error says lends it its place.
  if (findings.length > 1 || (first !== undefined && first.message !== error.message)) {
    for (const finding of findings) lines.push(`  ${findingText(finding)}`);
  } else {
    const place = error.place ?? (first && placeOf(first));
    const at = place ? placeText(place).trim() : '';
    if (at !== '') lines.push(`  at ${at}`);
  }
  if (error.hint) lines.push(`  ${paint('cyan', 'hint', process.stderr)}: ${indented(error.hint, '    ')}`);
  return lines.join('\n');
}

/** As checks tell it, or as it stands in a report. */
type AnyFinding = Finding | ReportFinding;

export function findingText(finding: AnyFinding): string {
  const { severity, message, rule } = finding;
  return `${severity === 'error' ? '' : `${severity} `}${placeText(placeOf(finding))}${indented(message, '    ')} (${rule})`;
}

export function placeOf(finding: AnyFinding): Place {
  if ('place' in finding) return finding.place;
  const { file, path, line, column } = finding;
  return {
    ...(file === null ? {} : { file }),
    ...(path === null ? {} : { path }),
    ...(line === null ? {} : { line }),
    ...(column === null ? {} : { column }),
  };
}

/** `file:line:column /json/pointer ` as far as known, with a blank at its end where there is anything. */
export function placeText({ file, path, line, column }: Place): string {
  const position = line === undefined ? '' : `:${line}${column === undefined ? '' : `:${column}`}`;
  const text = [file === undefined ? position.slice(1) : `${file}${position}`, path ?? '']
    .filter((part) => part !== '')
    .join(' ');
  return text === '' ? '' : `${oneLine(text)} `;
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
