import { dateToIso, isArray, isFiniteNumber, keysOf, quote, sliceText, typedArrayName } from './primordials.ts';

const maxTextLength = 16 * 1024;
const maxStringLength = 4096;
const maxEntries = 200;
const maxDepth = 6;

interface Writer {
  text: string;
}

/**
 * JSON text for any value at all, for what is shown and logged: what JSON has not becomes text (`"12n"`, `"[Function f]"`,
 * an Error's name and message), what is long or deep is cut, what throws when it is read says so. At most about 16 KiB.
 * Never throws. Unlike an output, a log line is worth more when it is a little wrong than when it is refused.
 */
export function encodeForLog(value: unknown): string {
  const writer = { text: '' };
  try {
    write(writer, value, 1);
    return writer.text;
  } catch {
    return '"[unreadable]"';
  }
}

function write(writer: Writer, value: unknown, depth: number): void {
  switch (typeof value) {
    case 'string':
      writer.text += quote(cut(value));
      return;
    case 'number':
      writer.text += isFiniteNumber(value) ? `${value}` : `"${value}"`;
      return;
    case 'boolean':
      writer.text += value ? 'true' : 'false';
      return;
    case 'bigint':
      writer.text += quote(cut(`${value}n`));
      return;
    case 'undefined':
      writer.text += '"[undefined]"';
      return;
    case 'symbol':
      writer.text += '"[symbol]"';
      return;
    case 'function':
      writer.text += quote(`[Function ${cut(textOf(value, 'name') ?? '')}]`);
      return;
    default:
      if (value === null) writer.text += 'null';
      else writeObject(writer, value as object, depth);
  }
}

function writeObject(writer: Writer, value: object, depth: number): void {
  if (depth > maxDepth || writer.text.length > maxTextLength) {
    writer.text += '"[…]"';
    return;
  }
  const known = knownObject(value);
  if (known !== undefined) writer.text += quote(cut(known));
  else if (isArray(value)) writeArray(writer, value, depth);
  else writeEntries(writer, value as Record<string, unknown>, depth);
}

function knownObject(value: object): string | undefined {
  const bytes = typedArrayName(value);
  if (bytes !== undefined) return `[${bytes}]`;
  try {
    return dateToIso(value as Date);
  } catch {
    // Not a Date, or an invalid one.
  }
  const name = textOf(value, 'name');
  const message = textOf(value, 'message');
  return name !== undefined && message !== undefined && textOf(value, 'stack') !== undefined
    ? `${name}: ${message}`
    : undefined;
}

function writeArray(writer: Writer, value: unknown[], depth: number): void {
  const { length } = value;
  writer.text += '[';
  for (let i = 0; i < length; i++) {
    if (i > 0) writer.text += ',';
    if (i === maxEntries || writer.text.length > maxTextLength) {
      writer.text += `"[${length - i} more]"`;
      break;
    }
    writeProperty(writer, value, i, depth);
  }
  writer.text += ']';
}

function writeEntries(writer: Writer, value: Record<string, unknown>, depth: number): void {
  const names = keysOf(value);
  writer.text += '{';
  for (let i = 0; i < names.length; i++) {
    if (i > 0) writer.text += ',';
    if (i === maxEntries || writer.text.length > maxTextLength) {
      writer.text += `"…":"[${names.length - i} more]"`;
      break;
    }
    const name = names[i] as string;
    writer.text += `${quote(cut(name))}:`;
    writeProperty(writer, value, name, depth);
  }
  writer.text += '}';
}

function writeProperty(writer: Writer, value: object, key: string | number, depth: number): void {
  let item: unknown;
  try {
    item = (value as Record<string | number, unknown>)[key];
  } catch {
    item = '[threw when it was read]';
  }
  write(writer, item, depth + 1);
}

/** A property that is text; undefined when it is something else or cannot be read. */
export function textOf(value: unknown, key: string): string | undefined {
  try {
    const text = (value as Record<string, unknown>)[key];
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined;
  }
}

function cut(text: string): string {
  return text.length <= maxStringLength
    ? text
    : `${sliceText(text, 0, maxStringLength)}… (${text.length - maxStringLength} more)`;
}
