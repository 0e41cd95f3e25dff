/**
 * The built-ins that the channel uses, taken when this module is loaded.
 *
 * In a cell the channel shares its realm with author code, which may replace any method of any prototype. What runs after
 * author code is loaded therefore calls these, and otherwise only operators, own fields and index access.
 */

/** `uncurryThis(f)(self, …args)` is `f.call(self, …args)` without a look-up of `call`. */
const uncurryThis = Function.prototype.bind.bind(Function.prototype.call) as unknown as <T, A extends unknown[], R>(
  method: (this: T, ...args: A) => R,
) => (self: T, ...args: A) => R;

const typedArrayPrototype: object = Object.getPrototypeOf(Uint8Array.prototype);

function getterOf<T>(prototype: object, name: string): (self: Uint8Array) => T {
  const getter = Object.getOwnPropertyDescriptor(prototype, name)?.get;
  if (!getter) throw new TypeError(`no getter ${name}`);
  return uncurryThis(getter as (this: Uint8Array) => T);
}

export const Bytes = Uint8Array;
export const byteLengthOf = getterOf<number>(typedArrayPrototype, 'byteLength');
export const byteOffsetOf = getterOf<number>(typedArrayPrototype, 'byteOffset');
export const bufferOf = getterOf<ArrayBuffer>(typedArrayPrototype, 'buffer');
export const bufferByteLengthOf = uncurryThis(
  Object.getOwnPropertyDescriptor(ArrayBuffer.prototype, 'byteLength')?.get as (this: ArrayBuffer) => number,
);
export const isView = ArrayBuffer.isView;
export const setBytes = uncurryThis(
  Uint8Array.prototype.set as (this: Uint8Array, source: Uint8Array, offset?: number) => void,
);
export const latin1Slice = uncurryThis(
  (Buffer.prototype as unknown as { latin1Slice: (this: Uint8Array, start: number, end: number) => string })
    .latin1Slice,
);

export const charCodeAt = uncurryThis(String.prototype.charCodeAt);
export const sliceText = uncurryThis(String.prototype.slice);
export const numberToText = uncurryThis(Number.prototype.toString as (this: number, radix?: number) => string);
export const parseJsonText = JSON.parse as (text: string) => unknown;
export const isArray = Array.isArray;
export const { isInteger } = Number;
export const { max, min, ceil, floor } = Math;

export const { defineProperty, getOwnPropertyDescriptor, getPrototypeOf, keys: keysOf, setPrototypeOf } = Object;
export const { apply, ownKeys } = Reflect;
export const BufferPrototype: object = Buffer.prototype;
export const ObjectPrototype: object = Object.prototype;

export const asyncIterator: typeof Symbol.asyncIterator = Symbol.asyncIterator;
export const nextTick = process.nextTick as (task: () => void) => void;
export const startTimer = setTimeout as (task: () => void, ms: number) => unknown;
export const stopTimer = clearTimeout as (timer: unknown) => void;

const { hrtime } = process;
/** Milliseconds of a clock that only goes forward. */
export function monotonicMs(): number {
  const time = hrtime();
  return (time[0] as number) * 1000 + (time[1] as number) / 1e6;
}

/** `bytes[start, end)` without a copy and without looking up a species constructor. */
export function viewOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return new Bytes(bufferOf(bytes), byteOffsetOf(bytes) + start, end - start);
}

export function copyOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const copy = new Bytes(end - start);
  setBytes(copy, viewOf(bytes, start, end), 0);
  return copy;
}

export const Doubles = Float64Array;
