/**
 * The built-ins that run beside author code use, taken when this module is loaded.
 *
 * In a cell the harness shares its realm with the node, which may replace any method of any prototype, on purpose or by a
 * polyfill. Whatever runs once the node is loaded calls these, and otherwise only operators, literals and own fields.
 */

/** `uncurryThis(f)(self, …args)` is `f.call(self, …args)` without a look-up of `call`. */
export const uncurryThis = Function.prototype.bind.bind(Function.prototype.call) as unknown as <
  T,
  A extends unknown[],
  R,
>(
  method: (this: T, ...args: A) => R,
) => (self: T, ...args: A) => R;

const typedArrayPrototype: object = Object.getPrototypeOf(Uint8Array.prototype);

export const { apply, ownKeys } = Reflect;
export const { freeze, getPrototypeOf, keys: keysOf } = Object;
export const { isArray } = Array;
export const { isFinite: isFiniteNumber, isInteger, isSafeInteger } = Number;
export const ArrayPrototype: object = Array.prototype;
export const ObjectPrototype: object = Object.prototype;
export const PlainTypeError = TypeError;
export const BigInteger = BigInt;

/** Only ever called with text: then it consults no property of anything. */
export const quote = JSON.stringify as (text: string) => string;
export const parseJsonText = JSON.parse as (text: string) => unknown;

export const sliceText = uncurryThis(String.prototype.slice as (this: string, start?: number, end?: number) => string);
export const indexOfText = uncurryThis(String.prototype.indexOf);
export const execPattern = uncurryThis(RegExp.prototype.exec);
export const dateToIso = uncurryThis(Date.prototype.toISOString);
export const utf8Length = Buffer.byteLength as (text: string) => number;

/** The kind of a typed array by its internal slot; undefined for anything else. */
export const typedArrayName = uncurryThis(
  Object.getOwnPropertyDescriptor(typedArrayPrototype, Symbol.toStringTag)?.get as (
    this: unknown,
  ) => string | undefined,
);
export const asyncIterator: typeof Symbol.asyncIterator = Symbol.asyncIterator;
export const iterator: typeof Symbol.iterator = Symbol.iterator;
