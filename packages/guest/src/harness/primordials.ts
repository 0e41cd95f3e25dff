import { uncurryThis } from '@glovebox/sdk/primordials';

/**
 * Further built-ins, taken before author code is loaded; see `@glovebox/sdk/primordials` for why.
 */
export * from '@glovebox/sdk/primordials';

export const PlainPromise = Promise;
export const promiseThen = uncurryThis(
  Promise.prototype.then as (
    this: Promise<unknown>,
    ok?: (value: unknown) => unknown,
    bad?: (reason: unknown) => unknown,
  ) => unknown,
);
export const { isPromise } = process.getBuiltinModule('node:util').types;
export const { defineProperty } = Object;
export const { floor } = Math;
export const PlainProxy = Proxy;

const timeout = setTimeout;
const immediate = setImmediate;
export const startTimer = timeout as (task: () => void, ms: number) => NodeJS.Timeout;
export const stopTimer = clearTimeout as (timer: NodeJS.Timeout) => void;
export const nextTick = process.nextTick as (task: () => void) => void;
/** In the next turn of the event loop. */
export const runSoon = immediate as (task: () => void) => void;

const encoder = new TextEncoder();
const encode = uncurryThis(TextEncoder.prototype.encode);
export const utf8Bytes = (text: string): Uint8Array => encode(encoder, text);
export const utf8Text = uncurryThis(
  (Buffer.prototype as unknown as { utf8Slice: (this: Uint8Array, start: number, end: number) => string }).utf8Slice,
);
export const Bytes = Uint8Array;
export const setBytes = uncurryThis(
  Uint8Array.prototype.set as (this: Uint8Array, source: Uint8Array, offset?: number) => void,
);

const typedArrayPrototype: object = Object.getPrototypeOf(Uint8Array.prototype);
const getter = <T>(name: string): ((bytes: Uint8Array) => T) =>
  uncurryThis(Object.getOwnPropertyDescriptor(typedArrayPrototype, name)?.get as (this: Uint8Array) => T);
export const lengthOf = getter<number>('length');
const bufferOf = getter<ArrayBuffer>('buffer');
const offsetOf = getter<number>('byteOffset');

/** `bytes[start, end)`, not copied, without looking up a species constructor. */
export function viewOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  return new Bytes(bufferOf(bytes), offsetOf(bytes) + start, end - start);
}

const { hrtime } = process;
/** Milliseconds of a clock that only goes forward. */
export function monotonicMs(): number {
  const time = hrtime();
  return time[0] * 1000 + time[1] / 1e6;
}
