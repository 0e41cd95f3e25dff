import type { AttemptState, ErrorData, Json, LogRecord } from '@glovebox/contract';
import type { AttemptErrorView } from '@glovebox/contract/routes';
import { indented, jsonText, oneLine, paint, placeText } from './output.ts';

/** A patch of ours is one rule. */
const maxPatchChars = 4000;

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
  const patch = patchOf(error);
  if (patch !== undefined) {
    lines.push('  patch of capabilities.http, as the node was told it (glovebox policy check tells it anew):');
    lines.push(`    ${indented(jsonText(patch, 2), '    ')}`);
  }
  return lines.join('\n');
}

/** What would have allowed a request that was denied. A node can say so too: it is shown, and nothing is done by it. */
function patchOf({ code, details }: ErrorData | AttemptErrorView): Json | undefined {
  if (code !== 'EGRESS_DENIED' || !isObject(details) || !isObject(details.patch)) return undefined;
  return JSON.stringify(details.patch).length > maxPatchChars ? undefined : details.patch;
}

const isObject = (json: Json | undefined): json is { [key: string]: Json } =>
  typeof json === 'object' && json !== null && !Array.isArray(json);
