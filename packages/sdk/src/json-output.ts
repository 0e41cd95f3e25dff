import {
  ArrayPrototype,
  BigInteger,
  getPrototypeOf,
  isArray,
  isFiniteNumber,
  isInteger,
  isSafeInteger,
  keysOf,
  ObjectPrototype,
  ownKeys,
  quote,
  sliceText,
  utf8Length,
} from './primordials.ts';

/** Levels of arrays and objects that a value may have; 1 is a flat one. */
export const maxJsonDepth = 128;

export interface JsonProblem {
  kind: 'not-json' | 'too-large';
  /** JSON Pointer (RFC 6901); empty for the whole value. */
  place: string;
  /** What is wrong there, to go after the place. */
  reason: string;
}

/** Where the encoder stands: one link per level, so that a path is spelled out only when something is wrong. */
interface Level {
  readonly parent: Level | undefined;
  readonly value: object;
  readonly depth: number;
  key: string | number;
}

/** Thrown inside this file only. */
class Refusal {
  readonly problem: JsonProblem;
  constructor(kind: JsonProblem['kind'], level: Level | undefined, reason: string) {
    this.problem = { kind, place: pointer(level), reason };
  }
}

/**
 * JSON text of a value, or why it has none. Unlike JSON.stringify nothing is left out, called or converted on the way:
 * `undefined`, functions, symbols, BigInt, NaN, Infinity, class instances (Date, Map, typed arrays, boxed values, Errors
 * …), `toJSON`, holes, cycles, keys that are symbols, properties that are not enumerable, and extra properties of arrays
 * are refused with their place. Own keys named `__proto__` are data; -0 stays -0; whole numbers past 2^53 are written
 * with all their digits.
 *
 * Each property is read once, so a getter or proxy that changes its mind cannot get anything past the checks; one that
 * throws is refused. It neither recurses deeper than `maxJsonDepth` nor builds more text than `maxBytes`.
 *
 * @param maxBytes of UTF-8.
 */
export function encodeJson(
  value: unknown,
  maxBytes: number,
): { ok: true; text: string } | { ok: false; problem: JsonProblem } {
  const encoder = { text: '', maxBytes };
  try {
    encode(encoder, value, undefined);
    if (utf8Length(encoder.text) > maxBytes) throw tooLarge(encoder);
    return { ok: true, text: encoder.text };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, problem: error.problem };
    throw error;
  }
}

interface Encoder {
  text: string;
  readonly maxBytes: number;
}

function tooLarge(encoder: Encoder): Refusal {
  return new Refusal('too-large', undefined, `is longer than ${encoder.maxBytes} bytes of JSON`);
}

function encode(encoder: Encoder, value: unknown, level: Level | undefined): void {
  // A value that is referred to again and again is written each time: without this check, 40 objects could make 2^40.
  // Each UTF-16 unit is at least one byte.
  if (encoder.text.length > encoder.maxBytes) throw tooLarge(encoder);
  switch (typeof value) {
    case 'string':
      if (value.length > encoder.maxBytes) throw tooLarge(encoder);
      encoder.text += quote(value);
      return;
    case 'number':
      encoder.text += numberText(value, level);
      return;
    case 'boolean':
      encoder.text += value ? 'true' : 'false';
      return;
    case 'object':
      if (value === null) encoder.text += 'null';
      else encodeObject(encoder, value, level);
      return;
    default:
      throw new Refusal('not-json', level, `is ${nameOfPrimitive(value)}, which JSON has not`);
  }
}

function numberText(value: number, level: Level | undefined): string {
  if (!isFiniteNumber(value)) throw new Refusal('not-json', level, `is ${value}, which JSON has not`);
  if (value === 0) return 1 / value < 0 ? '-0' : '0';
  // 2^64 prints as 18446744073709552000, which is another number when read as an integer.
  if (isInteger(value) && !isSafeInteger(value) && value < 1e21 && value > -1e21) return `${BigInteger(value)}`;
  return `${value}`;
}

function nameOfPrimitive(value: unknown): string {
  switch (typeof value) {
    case 'undefined':
      return 'undefined';
    case 'bigint':
      return 'a BigInt';
    case 'symbol':
      return 'a symbol';
    default:
      return 'a function';
  }
}

function encodeObject(encoder: Encoder, value: object, parent: Level | undefined): void {
  for (let above = parent; above; above = above.parent) {
    if (above.value === value) throw new Refusal('not-json', parent, 'leads back to an object that it is in');
  }
  const depth = parent ? parent.depth + 1 : 1;
  if (depth > maxJsonDepth) throw new Refusal('not-json', parent, `is nested deeper than ${maxJsonDepth} levels`);
  const level: Level = { parent, value, depth, key: '' };
  if (guarded(parent, isArray, value)) encodeArray(encoder, value as unknown[], level, parent);
  else encodePlain(encoder, value as Record<string, unknown>, level, parent);
}

function encodeArray(encoder: Encoder, value: unknown[], level: Level, parent: Level | undefined): void {
  if (guarded(parent, getPrototypeOf, value) !== ArrayPrototype) {
    throw new Refusal('not-json', parent, `is ${describeInstance(value)}; make it a plain array`);
  }
  encoder.text += '[';
  const length = guarded(parent, lengthOf, value);
  for (let i = 0; i < length; i++) {
    if (i > 0) encoder.text += ',';
    level.key = i;
    encode(encoder, read(value, i, level), level);
  }
  encoder.text += ']';
  const names = guarded(parent, ownKeys, value);
  for (let i = length; i < names.length; i++) {
    const name = names[i];
    if (name === 'length') continue;
    throw new Refusal('not-json', parent, `is an array with a property ${describeKey(name)}, which JSON cannot hold`);
  }
}

function encodePlain(encoder: Encoder, value: Record<string, unknown>, level: Level, parent: Level | undefined): void {
  const prototype = guarded(parent, getPrototypeOf, value);
  if (prototype !== ObjectPrototype && prototype !== null) {
    throw new Refusal(
      'not-json',
      parent,
      `is ${describeInstance(value)}; make it a plain object, a string or a number`,
    );
  }
  const names = guarded(parent, ownKeys, value);
  if (names.length !== guarded(parent, keysOf, value).length) refuseHidden(value, names, parent);
  encoder.text += '{';
  for (let i = 0; i < names.length; i++) {
    const name = names[i] as string;
    if (i > 0) encoder.text += ',';
    encoder.text += quote(name);
    encoder.text += ':';
    level.key = name;
    encode(encoder, read(value, name, level), level);
  }
  encoder.text += '}';
}

/** Some key is a symbol, or a property is not enumerable: JSON.stringify would leave it out. */
function refuseHidden(value: object, names: (string | symbol)[], level: Level | undefined): never {
  const enumerable = guarded(level, keysOf, value);
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    if (name === enumerable[i]) continue;
    throw new Refusal('not-json', level, `has a property ${describeKey(name)}, which JSON would leave out`);
  }
  throw new Refusal('not-json', level, 'has properties that JSON would leave out');
}

function read(value: object, key: string | number, level: Level): unknown {
  try {
    return (value as Record<string | number, unknown>)[key];
  } catch {
    throw new Refusal('not-json', level, 'threw when it was read');
  }
}

const lengthOf = (value: unknown[]): number => value.length;

/** Whatever may run author code (a trap of a proxy) goes through here or through `read`. */
function guarded<T extends object, R>(level: Level | undefined, action: (value: T) => R, value: T): R {
  try {
    return action(value);
  } catch {
    throw new Refusal('not-json', level, 'threw when it was read');
  }
}

function describeKey(name: unknown): string {
  return typeof name === 'string' ? quote(sliceText(name, 0, 60)) : 'that is a symbol';
}

function describeInstance(value: object): string {
  try {
    const name: unknown = (value as { constructor?: { name?: unknown } }).constructor?.name;
    if (name === 'Promise') return 'a Promise (is an await missing?)';
    if (typeof name === 'string' && name !== '') return `an instance of ${sliceText(name, 0, 60)}`;
  } catch {
    // It says nothing of itself.
  }
  return 'an instance of a class';
}

/** The path of what `level` is reading, as a JSON Pointer. Cut in the middle when it is long. */
function pointer(level: Level | undefined): string {
  let text = '';
  for (let at = level; at; at = at.parent) text = `/${escapeKey(at.key)}${text}`;
  return text.length <= 1000 ? text : `${sliceText(text, 0, 490)}…${sliceText(text, text.length - 490)}`;
}

function escapeKey(key: string | number): string {
  if (typeof key === 'number') return `${key}`;
  let text = '';
  for (let i = 0; i < key.length && i < 200; i++) {
    const c = key[i] as string;
    text += c === '~' ? '~0' : c === '/' ? '~1' : c;
  }
  return text;
}
