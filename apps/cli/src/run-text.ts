import type { AttemptState, ErrorData, LogRecord } from '@glovebox/contract';
import type { AttemptErrorView } from '@glovebox/contract/routes';
import { indented, oneLine, paint, placeText } from './output.ts';

/** Texts about runs that several commands print. */
export function stateText(state: AttemptState, stream?: NodeJS.WriteStream): string {
  const color = state === 'SUCCEEDED' ? 'green' : state === 'QUEUED' || state === 'RUNNING' ? 'yellow' : 'red';
  return paint(color, state, stream);
}

/** One record. Further lines of a message stand below its beginning: a node cannot write a record that is none. */
export function logText(record: LogRecord): string {
  const time = new Date(record.atMs).toISOString().slice(11, 23);
  const fields = record.fields === undefined ? '' : ` ${JSON.stringify(record.fields)}`;
  const source = record.source === 'node' ? '' : `[${record.source}] `;
  const head = `${time} ${record.level.padEnd(5)} ${source}`;
  return `${head}${indented(record.message + fields, ' '.repeat(head.length))}`;
}

export function errorLines(error: ErrorData | AttemptErrorView): string {
  const lines = [`  ${oneLine(error.code)}: ${indented(error.message, '    ')}`];
  const at = error.place ? placeText(error.place).trim() : '';
  if (at !== '') lines.push(`  at ${at}`);
  if ('stack' in error && error.stack !== undefined) {
    const frames = error.stack.split('\n').filter((line) => /^\s+at /.test(line));
    lines.push(...frames.slice(0, 10).map((line) => `    ${oneLine(line.trim())}`));
  }
  if (error.hint) lines.push(`  hint: ${indented(error.hint, '    ')}`);
  return lines.join('\n');
}
