import type { AttemptState, ErrorData, LogRecord } from '@glovebox/contract';
import type { GuestErrorData } from '@glovebox/engine';
import { paint, printable } from './output.ts';

/** Texts about runs that several commands print. */
export function stateText(state: AttemptState, stream?: NodeJS.WriteStream): string {
  const color = state === 'SUCCEEDED' ? 'green' : state === 'QUEUED' || state === 'RUNNING' ? 'yellow' : 'red';
  return paint(color, state, stream);
}

export function logText(record: LogRecord): string {
  const time = new Date(record.atMs).toISOString().slice(11, 23);
  const fields = record.fields === undefined ? '' : ` ${JSON.stringify(record.fields)}`;
  const source = record.source === 'node' ? '' : `[${record.source}] `;
  return `${time} ${record.level.padEnd(5)} ${source}${printable(record.message + fields)}`;
}

export function errorLines(error: ErrorData | GuestErrorData): string {
  const lines = [`  ${error.code}: ${printable(error.message)}`];
  if (error.place) {
    const { file, path, line, column } = error.place;
    const at = [file === undefined ? '' : `${file}${line === undefined ? '' : `:${line}:${column ?? 1}`}`, path ?? '']
      .filter((part) => part !== '')
      .join(' ');
    if (at !== '') lines.push(`  at ${printable(at)}`);
  }
  if ('stack' in error && error.stack !== undefined) {
    const frames = error.stack.split('\n').filter((line) => /^\s+at /.test(line));
    lines.push(...frames.slice(0, 10).map((line) => `    ${printable(line.trim())}`));
  }
  if (error.hint) lines.push(`  hint: ${printable(error.hint)}`);
  return lines.join('\n');
}
